#pragma once

// What the leader says about connections that come to nothing: a few one by one, then their number. Pure.

#include "gang/protocol/durations.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace muster::gang {

/// A flood must not fill the log, nor must a probe that connects every few seconds.
class RejectedConnectionLog {
 public:
  /// Counts one. Returns what to say at once, such as "refused a connection from 10.0.0.7: it closed the
  /// connection"; empty: that has been said, or enough like it.
  [[nodiscard]] std::string note(const std::string& address, const std::string& why, Instant now);
  /// Counts one of which something else is said, or nothing.
  void count(const std::string& address, Instant now);

  /// When the numbers are due.
  [[nodiscard]] std::optional<Instant> next_wake() const { return until_; }
  /// What came since the first one, "refused 48,211 connections from 1 address (10.0.0.7) in 30 s"; empty: too few for a
  /// line. It begins anew with the next one, and takes longer as long as there is always something to say.
  [[nodiscard]] std::string summary(Instant now);

 private:
  [[nodiscard]] std::string describe(Instant now) const;

  std::set<std::string> named_;                   ///< addresses with reasons
  std::map<std::string, std::size_t> by_reason_;  ///< how many of them
  std::chrono::seconds span_{30};
  Instant since_;
  std::optional<Instant> until_;  ///< empty: nothing has come
  std::size_t refused_ = 0;
  std::map<std::string, std::size_t> by_address_;  ///< of the first that came
};

}  // namespace muster::gang
