#pragma once

// Timers of torch.distributed.elastic's watchdog: parses requests and finds expired timers. Pure; private to services/.
// Source: FileTimerServer in torch/distributed/elastic/timer/file_based_local_timer.py of torch 2.13.

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace muster::file_timer {

/// Time by which a process must have left a scope (a part of its program); otherwise it gets the signal.
struct Timer {
  int pid = 0;
  std::string scope;
  double expires = 0;  ///< seconds since the epoch
  int signal = 0;      ///< sent to the process, up to SIGRTMAX; 0 or less: none
  bool operator==(const Timer&) const = default;
};

/// Limits of what is kept. A request is a line of at most as many bytes as a pipe takes in one piece (PIPE_BUF).
struct Limits {
  std::size_t line_bytes = 4'096;
  std::size_t timers = 16'384;
  std::size_t scope_bytes = std::size_t{1} << 20U;
};

/// All timers of a node.
class Timers {
 public:
  explicit Timers(Limits limits = {}) : size_limits_(limits) {}

  /// Takes bytes that were read from the pipe: lines of JSON, in any pieces. Each line sets a timer, or removes it if
  /// `expiration_time` is negative. Returns the number of lines that were invalid or over a limit.
  std::size_t take(std::string_view bytes);

  /// Time of the next expiry, in seconds since the epoch; empty: there is no timer.
  std::optional<double> next() const;

  /// Finds the process with the earliest expired timer and removes all timers of this process. Returns its earliest
  /// expired timer that has a signal, else its earliest one. Empty: no timer has expired.
  std::optional<Timer> expire(double now);

  std::size_t size() const { return timers_.size(); }
  /// Bytes kept: scopes and an incomplete line.
  std::size_t bytes() const { return scope_bytes_ + line_.size(); }

 private:
  using Key = std::pair<int, std::string>;                  ///< pid and scope
  using Place = std::tuple<double, int, std::string_view>;  ///< by expiry time; the scope points into the key

  bool take_line(std::string_view line);
  bool set(Timer timer);
  void remove(std::map<Key, Timer>::iterator timer);

  Limits size_limits_;
  std::map<Key, Timer> timers_;
  std::set<Place> by_time_;
  std::size_t scope_bytes_ = 0;
  std::string line_;
  bool is_line_too_long_ = false;
};

}  // namespace muster::file_timer
