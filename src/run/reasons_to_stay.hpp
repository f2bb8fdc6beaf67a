#pragma once

// Why the agent is still here. Private to run/.

#include <string>
#include <vector>

namespace muster {

/// A list of named reasons, such as "attempt 0" or "console of rank 3". The agent's loop runs as long as
/// there is one. A name stands in it once, however often it is added.
class ReasonsToStay {
 public:
  void add(const std::string& name);
  /// Harmless for a name that is not there.
  void remove(const std::string& name);
  /// Somebody will not wait: there is no reason any more, and none can be added.
  void leave_now();

  [[nodiscard]] bool is_empty() const { return names_.empty(); }
  /// "attempt 0, console of rank 3", in the order in which they came.
  [[nodiscard]] std::string describe() const;

 private:
  std::vector<std::string> names_;
  bool is_leaving_ = false;
};

}  // namespace muster
