#pragma once

// What the workers execute, looked for before the first of them is started. Private to run/.

#include "process/errand.hpp"
#include "process/timers.hpp"

#include "base/result.hpp"
#include "plan/launch_plan.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace muster {

/// Where other nodes count on this one a process of its own looks, since PATH, a program, a script and a folder may lie on a file
/// system that hangs, or that needs a minute because a thousand nodes ask it: an agent that waits for it hears nobody, and is
/// taken for dead. What was looked at is in the kernel's memory afterwards, so executing it waits no more.
class Programs {
 public:
  /// The plan and the variables, of which PATH is one, outlive it.
  Programs(boost::asio::io_context& io,
           HelperProcesses& helpers,
           const LaunchPlan& plan,
           const std::map<std::string, std::string>& variables);

  /// True: it is known of each worker at once, as in a job of one node, which is in a hurry. Else calls `then` once when it is, however
  /// long that takes: after ten seconds it says so.
  [[nodiscard]] bool find(std::function<void()> then);
  /// `then` is not called any more.
  void cancel();

  /// The file that the worker executes; its script can be read, and the folder that it has for itself has been made. Fails as
  /// `find_executable` and `check_script` do, or with `System`. To be called when they are known.
  [[nodiscard]] const Result<std::string>& of(std::size_t worker) const { return found_[worker]; }

 private:
  void log_slow_search();

  const LaunchPlan& plan_;
  std::string search_path_;
  HelperTask errand_;
  DelayedCall slow_search_timer_;
  std::chrono::steady_clock::time_point began_;
  std::vector<Result<std::string>> found_;  ///< by worker
};

}  // namespace muster
