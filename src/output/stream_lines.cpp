// Shows lines on consoles, writes them to files, and decides when unfinished lines are shown too.
#include "output/stream_lines.hpp"

#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace muster {
namespace {

/// Capacity that a buffer of lines keeps for reuse.
constexpr std::size_t kUsualLines = std::size_t{1} << 20U;
/// Delay until the steps of an unfinished progress bar are shown.
constexpr std::chrono::milliseconds kProgressDelay{500};
/// Quiet time after which an unfinished line is shown.
constexpr std::chrono::milliseconds kQuiet{100};
/// Time after which a line that the cursor has not gone back to is given out: a program that draws two bars may be
/// interrupted between them.
constexpr std::chrono::milliseconds kLeft{500};

}  // namespace

StreamLines::StreamLines(boost::asio::io_context& io, LineOutput& output, StreamRoute stream_route, std::size_t number)
    : route(std::move(stream_route)),
      output_(output),
      number_(number),
      // A progress bar has no line end until it is done: its steps are shown periodically.
      progress_timer_(io, kProgressDelay,
                      [this] { frame([this](LineFramer& framer) { framer.flush_progress(output_.lines); }); }),
      unfinished_timer_(io),
      keeps_last_lines_(route.is_error) {}

void StreamLines::deliver(std::string_view bytes) {
  std::string filtered;
  if (route.control_filter) {
    route.control_filter->feed(bytes, filtered);
    bytes = filtered;
  }
  if (keeps_last_lines_) {
    tail_.feed(bytes);
    is_within_line_ = !bytes.empty() && bytes.back() != '\n';
  }
  if (route.file) {
    output_.queues.logs().write(*route.file, bytes);
  }
  frame([&](LineFramer& framer) { framer.feed(bytes, output_.lines); });
  watch_progress();
  watch_unsettled();
  watch_unfinished();
}

void StreamLines::finish() {
  progress_timer_.cancel();
  unfinished_timer_.cancel();
  std::string kept;
  if (route.control_filter) {
    route.control_filter->finish(kept);
  }
  frame([&](LineFramer& framer) {
    framer.feed(kept, output_.lines);
    framer.finish(output_.lines);
  });
  has_waiting_lines_ = false;
  if (route.console != nullptr) {
    route.console->draw_rows();
    route.console->lines().forget(this);
  }
}

void StreamLines::end_line() {
  if (is_within_line_) {
    deliver("\n");
  }
}

bool StreamLines::is_congested() const {
  const bool has_files = route.file || !route.shared_files.empty();
  return (route.console != nullptr && route.console->is_congested()) ||
         (has_files && output_.queues.logs().are_congested());
}

/// Runs one step on each framer, and passes on the lines that it gives out.
template <typename Step>
void StreamLines::frame(const Step& step) {
  for (LineRoute& shared : route.shared_files) {
    step(shared.framer);
    output_.queues.logs().write(*shared.file, output_.lines);
    clear_lines();
  }
  if (route.console != nullptr) {
    show(step);
  }
}

/// The console draws the row with the next lines or on request.
template <typename Step>
void StreamLines::show(const Step& step) {
  step(route.framer);
  if (route.framer.draws_rows()) {
    route.console->lines().set_row(number_, route.framer.row());
  }
  if (route.framer.has_whole_lines()) {
    (void)route.console->write_in_line(output_.lines, this);
  } else {
    (void)route.console->write(output_.lines);
  }
  clear_lines();
}

void StreamLines::clear_lines() {
  output_.lines.clear();
  if (output_.lines.capacity() > kUsualLines) {
    output_.lines.shrink_to_fit();
  }
}

void StreamLines::watch_progress() {
  const auto& shared = route.shared_files;
  if (route.framer.has_progress() || std::any_of(shared.begin(), shared.end(), [](const LineRoute& line_route) {
        return line_route.framer.has_progress();
      })) {
    progress_timer_.ask();
  }
}

// --- Unfinished lines, where the console is no terminal -----------------------------------------

/// Waits until nothing has followed an unfinished line for a while. A terminal has its own ways: `watch_unsettled`.
void StreamLines::watch_unfinished() {
  const auto quiet = quiet_before_showing();
  if (quiet) {
    last_read_ = std::chrono::steady_clock::now();
  }
  if (quiet && !unfinished_timer_.is_pending()) {
    unfinished_timer_.start(*quiet, [this] { show_unfinished(); });
  } else if (!quiet && unfinished_timer_.is_pending()) {
    unfinished_timer_.cancel();
  }
}

std::optional<std::chrono::milliseconds> StreamLines::quiet_before_showing() const {
  return route.console != nullptr && !route.shows_unfinished ? route.framer.quiet_before_showing() : std::nullopt;
}

void StreamLines::show_unfinished() {
  const auto quiet = quiet_before_showing();
  if (!quiet) {
    return;
  }
  const auto left = last_read_ + *quiet - std::chrono::steady_clock::now();
  if (left > std::chrono::nanoseconds::zero()) {  // bytes have come since the timer was started
    unfinished_timer_.start(left, [this] { show_unfinished(); });
  } else {
    show([this](LineFramer& framer) { framer.show_unfinished(output_.lines); });
  }
}

// --- Unfinished lines on a terminal -------------------------------------------------------------

void StreamLines::watch_unsettled() {
  const bool had_any = has_waiting_lines_;
  const auto now = std::chrono::steady_clock::now();
  has_waiting_lines_ = route.shows_unfinished && route.framer.has_unsettled();
  if (has_waiting_lines_ || had_any) {
    last_read_ = now;
    last_given_out_ = had_any ? last_given_out_ : now;
    output_.quiet_timer.ask();
  }
}

void StreamLines::settle() {
  if (!has_waiting_lines_) {
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  const bool is_quiet = now - last_read_ >= kQuiet;
  if (now - last_given_out_ >= kLeft) {
    last_given_out_ = now;
    show([this](LineFramer& framer) { framer.settle(output_.lines); });
  }
  if (is_quiet) {
    show_begun();
  }
  has_waiting_lines_ = route.framer.has_unsettled() && (!is_quiet || route.framer.may_settle());
  if (has_waiting_lines_) {
    output_.quiet_timer.ask();
  }
}

/// Shows an unfinished line. A prompt to which somebody types is shown as it is, and the text after it gets its prefix
/// again.
void StreamLines::show_begun() {
  show([this](LineFramer& framer) {
    framer.begin_row(output_.lines);
    if (framer.has_prompt() && (is_asked() || !framer.draws_rows())) {
      framer.show_prompt(output_.lines);
    }
  });
}

/// True when the terminal itself shows the typed input, so that it echoes the Enter too, unseen by us. Where it does
/// not, the worker may edit the input key by key.
bool StreamLines::is_asked() const {
  termios settings{};
  return route.is_typed_to && ::tcgetattr(STDIN_FILENO, &settings) == 0 && (settings.c_lflag & ECHO) != 0;
}

}  // namespace muster
