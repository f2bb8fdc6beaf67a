#pragma once

// The end of a job waits for files, and not for ever. Private to run/.

#include "output/consoles.hpp"
#include "output/log_files.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

namespace muster {

/// Where the job was to end: it ends within its grace and two seconds.
inline constexpr std::chrono::milliseconds kShortPatience{1'200};

/// Gives up those files whose file system takes nothing for a patience that they share. What is written
/// slowly is written.
class DrainDeadline {
 public:
  using Duration = std::chrono::milliseconds;

  DrainDeadline(boost::asio::io_context& io, Consoles& consoles, LogFiles* logs)
      : timer_(io), consoles_(consoles), logs_(logs) {}

  /// From here on nobody writes but who says the last words.
  void start(Duration patience);
  /// The last words have been said: there is a moment for them, too.
  void go_on();

  /// What is left of the patience.
  [[nodiscard]] Duration left() const { return left_; }
  /// Somebody else has waited for a file.
  void spend(Duration time) { left_ -= time; }

 private:
  [[nodiscard]] std::vector<OutputQueue*> awaited();
  [[nodiscard]] std::uint64_t arrived();
  void poll_later();
  void look();
  void give_up();

  boost::asio::steady_timer timer_;
  Consoles& consoles_;
  LogFiles* logs_;
  Duration left_{};
  std::uint64_t arrived_ = 0;
  bool is_waiting_ = false;
};

}  // namespace muster
