#pragma once

// The list of work that keeps the agent running, and the task that writes the report.

#include "base/result.hpp"
#include "process/helper_process.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Named reasons to keep running, such as "attempt 0" or "goodbye of node 3". The agent's loop runs while there is
/// one. A name is listed once, however often it is added.
class PendingWork {
 public:
  /// `in_detail` lists what is pending now, such as "goodbye of node 4"; an empty list: the name itself.
  void add(const std::string& name, std::function<std::vector<std::string>()> in_detail = {});
  /// Does nothing for an unknown name.
  void remove(const std::string& name);
  /// Drops all reasons and takes no new ones, after a second stop signal.
  void exit_early();

  [[nodiscard]] bool is_empty() const { return reasons_.empty(); }
  /// "attempt 0, goodbye of node 3", in the order of `add`.
  [[nodiscard]] std::string describe() const;

 private:
  struct Reason {
    std::string name;
    std::function<std::vector<std::string>()> in_detail;
  };
  std::vector<Reason> reasons_;
  bool is_leaving_ = false;
};

// Writing the report in a helper process.

/// Runs `write` in a helper process, which of our descriptors has `stream` alone. Calls `then` once, in a later turn
/// of the loop; with an error also after `most_time`.
void write_report_async(HelperTask& task, const std::function<Result<>()>& write, std::optional<int> stream,
                        std::chrono::milliseconds most_time, std::function<void(const Result<>&)> then);

}  // namespace muster
