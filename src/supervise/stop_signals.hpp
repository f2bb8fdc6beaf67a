#pragma once

#include "base/result.hpp"
#include "base/source.hpp"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// The signals that ask the job to end. TERM, INT, HUP and QUIT always do: without being asked for,
/// they would end muster alone.
class StopSignals {
 public:
  /// Reads --signals-to-handle: names such as "SIGUSR1,SIGUSR2", with or without SIG. Fails for a name
  /// that is unknown, and for a signal that cannot be a request.
  [[nodiscard]] static Result<StopSignals> read(const std::optional<Sourced<std::string>>& given);

  /// A signal that is a notice asks for no end. False where the user has named it as one that does.
  [[nodiscard]] bool make_notice(int signal);

  [[nodiscard]] bool contains(int signal) const { return all_.contains(signal); }
  [[nodiscard]] const std::set<int>& all() const { return all_; }
  /// What was asked for, as torchrun's workers find it: "SIGUSR1,SIGUSR2".
  [[nodiscard]] std::string to_text() const;

  StopSignals();

 private:
  std::vector<int> asked_for_;  ///< in the order in which they were given
  std::set<int> all_;
  bool is_given_ = false;  ///< `asked_for_` is what the user said
};

}  // namespace muster
