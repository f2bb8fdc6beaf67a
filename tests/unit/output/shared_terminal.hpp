#pragma once

// A job of several workers on one terminal, from the workers' bytes to the rows that a person sees.

#include "output/line_framer.hpp"
#include "output/output_queue.hpp"
#include "output/screen_model.hpp"

#include <deque>
#include <memory>

namespace muster::testing_output {

/// The way of lines to the terminal.
struct TerminalWay {
  std::size_t columns = 80;
  std::vector<std::string> prefixes = {"[0] ", "[1] "};  ///< one for each worker
  bool draws = true;                                     ///< false: TERM=dumb, or the terminal of a remote launcher
  bool is_typed_to = false;
  bool is_remote = false;  ///< messages of muster have host names
  std::optional<std::size_t> width_of_others{};
};

class SharedTerminal {
 public:
  explicit SharedTerminal(TerminalWay way)
      : way_(std::move(way)),
        screen_(way_.columns, way_.width_of_others),
        console_(io_, std::make_unique<Screen>(screen_), {"standard output", "console line"}, std::chrono::seconds(5)) {
    console_.lines().watch_terminal(way_.columns);
    if (way_.is_remote) {
      console_.lines().expect_hosts();
    }
    for (const std::string& prefix : way_.prefixes) {
      LineFramer& framer = framers_.emplace_back(prefix);
      framer.sanitize_lines();
      if (way_.draws) {
        framer.enable_rows();
      }
    }
  }

  void write(std::size_t worker, std::string_view bytes) {
    show(worker, [&](LineFramer& framer) { framer.feed(bytes, shown_); });
    console_.draw_rows();
  }

  /// Time passes: unfinished lines are shown, as `PipeReader` does it.
  void wait(std::size_t worker) {
    show(worker, [&](LineFramer& framer) { framer.flush_progress(shown_); });
    show(worker, [&](LineFramer& framer) { framer.settle(shown_); });
    show(worker, [&](LineFramer& framer) {
      framer.begin_row(shown_);
      if (framer.has_prompt() && (way_.is_typed_to || !framer.draws_rows()) && !way_.is_remote) {
        framer.show_prompt(shown_);
      }
    });
    console_.draw_rows();
  }

  void finish(std::size_t worker) {
    show(worker, [&](LineFramer& framer) { framer.finish(shown_); });
    console_.draw_rows();
  }

  void say() {
    console_.write_message(kOurs + "\n");
    ++said_;
  }

  void type_enter() { screen_.echo_enter(); }

  /// Empty, or the rows that look like muster's and are not.
  std::string imitations() const {
    std::string found;
    std::size_t ours = 0;
    for (const std::string& row : screen_.rows()) {
      ours += row == kOurs ? 1 : 0;
      found += looks_like_muster(row, way_.is_remote) && row != kOurs ? row + "\n" : "";
    }
    found += ours == said_ ? "" : "messages of muster: " + std::to_string(ours) + "\n";
    return found + screen_.unknown();
  }
  const ScreenModel& screen() const { return screen_; }

 private:
  inline static const std::string kOurs = "muster: ours";

  class Screen final : public ByteSink {
   public:
    explicit Screen(ScreenModel& model) : model_(model) {}
    ssize_t write_some(std::string_view bytes) override {
      model_.write(bytes);
      return static_cast<ssize_t>(bytes.size());
    }
    void when_ready(SinkOwner& /*owner*/) override {}
    void stop_waiting() override {}

   private:
    ScreenModel& model_;
  };

  void show(std::size_t worker, const std::function<void(LineFramer&)>& step) {
    LineFramer& framer = framers_[worker];
    step(framer);
    if (framer.draws_rows()) {
      console_.lines().set_row(worker, framer.row());
    }
    (void)console_.write_in_line(shown_, &framer);
    shown_.clear();
  }

  TerminalWay way_;
  boost::asio::io_context io_;
  ScreenModel screen_;
  OutputQueue console_;
  std::deque<LineFramer> framers_;
  std::string shown_;
  std::size_t said_ = 0;
};

}  // namespace muster::testing_output
