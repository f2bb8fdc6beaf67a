#pragma once

// What the watchdog of torch.distributed.elastic decides: bytes of its pipe become timers, a time tells who has expired. Pure.
// Source: FileTimerServer in torch/distributed/elastic/timer/file_based_local_timer.py of torch 2.13. Private to service/.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace muster::file_timer {

/// A time by which a process was to leave a scope of its program.
struct Timer {
  int pid = 0;
  std::string scope;
  double expires = 0;  ///< seconds since the epoch
  int signal = 0;      ///< that the process is to get, up to SIGRTMAX; none if it is not above 0
  bool operator==(const Timer&) const = default;
};

/// How much is kept at most. A request is a line of at most as many bytes as a pipe takes in one piece.
struct Limits {
  std::size_t line_bytes = 4'096;
  std::size_t timers = 16'384;
  std::size_t scope_bytes = std::size_t{1} << 20U;
};

/// All timers of a node.
class Timers {
 public:
  explicit Timers(Limits limits = {}) : limits_(limits) {}

  /// What has been read from the pipe: lines of JSON, each of which sets a timer, or takes one back where `expiration_time` is
  /// negative. A line may come in pieces. Returns how many lines were no requests, or more than is kept.
  std::size_t take(std::string_view bytes);

  /// When the next one expires, in seconds since the epoch; empty: there is none.
  [[nodiscard]] std::optional<double> next() const;

  /// One process whose timers have expired, the earliest such: its earliest that has expired and has a signal, else its earliest.
  /// All timers of that process are gone. Empty: none has.
  [[nodiscard]] std::optional<Timer> expire(double now);

  [[nodiscard]] std::size_t size() const { return timers_.size(); }
  /// Of scopes and of a line that is not whole.
  [[nodiscard]] std::size_t bytes() const { return scope_bytes_ + line_.size(); }

 private:
  using Key = std::pair<int, std::string>;                  ///< pid and scope
  using Place = std::tuple<double, int, std::string_view>;  ///< by time; the scope is the key's

  [[nodiscard]] bool take_line(std::string_view line);
  [[nodiscard]] bool set(Timer timer);
  void remove(std::map<Key, Timer>::iterator timer);
  [[nodiscard]] bool is_of(std::map<Key, Timer>::const_iterator timer, int pid) const;

  Limits limits_;
  std::map<Key, Timer> timers_;
  std::set<Place> by_time_;
  std::size_t scope_bytes_ = 0;
  std::string line_;
  bool is_line_too_long_ = false;
};

}  // namespace muster::file_timer
