// From what is read to what consoles show: lines, and when what has no end yet is shown, too.
#include "output/output_stream.hpp"

namespace muster {
namespace {

/// Memory of lines on their way that is kept for the next.
constexpr std::size_t kUsualLines = std::size_t{1} << 20U;
/// How long a progress bar may stand unfinished before its steps are shown.
constexpr std::chrono::milliseconds kProgressDelay{500};
/// How long nothing may follow a line without its end before that is shown.
constexpr std::chrono::milliseconds kQuiet{100};
/// How long nobody may have gone up to a row until it becomes a line: who draws two bars may be interrupted between them.
constexpr std::chrono::milliseconds kLeft{500};
/// How often rows are drawn, if they change.
constexpr std::chrono::milliseconds kDrawing{40};

}  // namespace

/// Carries out one step of each framer of a stream, and passes on the lines that it gives out.
void PipeReader::frame(Stream& stream, const std::function<void(LineFramer&)>& step) {
  StreamRoute& route = stream.route;
  for (LineRoute& shared : route.shared_files) {
    step(shared.framer);
    logs_->write(*shared.file, shown_);
    empty_shown();
  }
  if (route.console != nullptr) {
    show(stream, step);
  }
}

void PipeReader::show(Stream& stream, const std::function<void(LineFramer&)>& step) {
  StreamRoute& route = stream.route;
  step(route.framer);
  update_rows(stream);
  if (route.framer.has_whole_lines()) {
    (void)route.console->write_in_line(shown_, &stream);
  } else {
    (void)route.console->write(shown_);
  }
  empty_shown();
}

void PipeReader::empty_shown() {
  shown_.clear();
  if (shown_.capacity() > kUsualLines) {
    shown_.shrink_to_fit();
  }
}

/// A progress bar has no line end until it is done: give out its steps from time to time.
void PipeReader::watch_progress(Stream& stream) {
  if (stream.timer_runs || !stream.has_progress()) {
    return;
  }
  stream.timer_runs = true;
  stream.progress_timer.expires_after(kProgressDelay);
  stream.progress_timer.async_wait([this, &stream](const boost::system::error_code& error) {
    if (error) {
      return;  // the stream has ended, and may be gone
    }
    show_progress(stream);
  });
}

void PipeReader::show_progress(Stream& stream) {
  stream.timer_runs = false;
  if (stream.is_open) {
    frame(stream, [this](LineFramer& framer) { framer.flush_progress(shown_); });
  }
}

/// One timer for all, which runs only while there is something to settle, or to draw.
void PipeReader::watch_unsettled(Stream& stream) {
  const bool had_any = stream.has_unsettled;
  const auto now = std::chrono::steady_clock::now();
  stream.has_unsettled = stream.route.shows_unfinished && stream.route.framer.has_unsettled();
  if (stream.has_unsettled || had_any) {
    stream.last_read = now;
    stream.last_settled = had_any ? stream.last_settled : now;
    wait_for_quiet();
  }
}

void PipeReader::wait_for_quiet() {
  if (waits_for_quiet_) {
    return;
  }
  waits_for_quiet_ = true;
  quiet_timer_.expires_after(kDrawing);
  quiet_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) {
      waits_for_quiet_ = false;
      settle_quiet_lines();
    }
  });
}

void PipeReader::settle_quiet_lines() {
  for (const auto& stream : streams_) {
    if (stream->has_unsettled) {
      look_at(*stream);
    }
  }
  draw_rows();
}

/// Who edits a line may still go back to its first row.
void PipeReader::look_at(Stream& stream) {
  const auto now = std::chrono::steady_clock::now();
  const bool is_quiet = now - stream.last_read >= kQuiet;
  const bool is_editing = edits(stream);
  if (now - stream.last_settled >= kLeft && !is_editing) {
    stream.last_settled = now;
    show(stream, [this](LineFramer& framer) { framer.settle(shown_); });
  }
  if (is_quiet) {
    show_begun(stream, is_editing);
  }
  const LineFramer& framer = stream.route.framer;
  const bool may_settle = framer.may_settle() && !is_editing;
  stream.has_unsettled = framer.has_unsettled() && (!is_quiet || may_settle);
  if (stream.has_unsettled) {
    wait_for_quiet();
  }
}

/// Where the terminal shows what is typed, it shows the Enter, too, and nobody else sees that: a prompt stands there as it is, and
/// what follows has its prefix again.
void PipeReader::show_begun(Stream& stream, bool is_editing) {
  const bool is_asked = stream.route.is_typed_to && !is_editing;
  show(stream, [&](LineFramer& framer) {
    if (!is_editing || !framer.has_rows()) {
      framer.begin_row(shown_);
    }
    if (framer.has_prompt() && (is_asked || !framer.draws_rows())) {
      framer.show_prompt(shown_);
    }
  });
}

/// Of several that may, it is the one that has said so.
bool PipeReader::edits(const Stream& stream) const {
  return stream.may_edit() &&
         (stream.route.framer.is_edited() ||
          std::none_of(streams_.begin(), streams_.end(), [](const auto& other) {
            return other->route.framer.is_edited();
          }));
}

/// Tells the console of them, which draws them with the next lines, or when it is asked to.
void PipeReader::update_rows(Stream& stream) {
  if (stream.draws_rows()) {
    const LineFramer& framer = stream.route.framer;
    const bool has_cursor = framer.has_rows() && edits(stream);
    stream.route.console->set_rows(stream.number, framer.shown(has_cursor));
  }
}

void PipeReader::draw_rows() {
  for (const auto& stream : streams_) {
    if (stream->draws_rows()) {
      stream->route.console->draw_rows();
    }
  }
}

}  // namespace muster
