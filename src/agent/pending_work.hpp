#pragma once

// Why the agent is still here.

#include "base/result.hpp"
#include "process/helper_process.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// A list of named reasons, such as "attempt 0" or "goodbye of node 3". The agent's loop runs as long as
/// there is one. A name stands in it once, however often it is added.
class PendingWork {
 public:
  /// `in_detail` names what is behind it at the moment, such as "goodbye of node 4"; nothing: its own name.
  void add(const std::string& name, std::function<std::vector<std::string>()> in_detail = {});
  /// Harmless for a name that is not there.
  void remove(const std::string& name);
  /// Somebody will not wait: there is no reason any more, and none can be added.
  void exit_early();

  [[nodiscard]] bool is_empty() const { return reasons_.empty(); }
  /// "attempt 0, goodbye of node 3", in the order in which they came.
  [[nodiscard]] std::string describe() const;

 private:
  struct Reason {
    std::string name;
    std::function<std::vector<std::string>()> in_detail;
  };
  std::vector<Reason> reasons_;
  bool is_leaving_ = false;
};

// The report, by a process of its own.

/// Has `write` write the report: of our descriptors it has `stream` alone. Calls `then` once, in a later turn of the
/// loop; with an error where that took longer than `most_time`, too.
void write_report_async(HelperTask& task, const std::function<Result<>()>& write, std::optional<int> stream,
                        std::chrono::milliseconds most_time, std::function<void(const Result<>&)> then);

}  // namespace muster
