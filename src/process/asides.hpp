#pragma once

// Processes beside the agent for work that may hang. Private to run/.

#include "guard/shared_page.hpp"

#include "base/result.hpp"

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// A copy of us that runs `work` and ends. Of our descriptors it has `kept` alone: who reads from us would
/// wait for the others as long as it hangs. It ends without a signal; waitpid(2) finds it with __WALL.
[[nodiscard]] Result<pid_t> fork_helper(const std::vector<int>& kept,
                                        const std::function<void()>& work);

/// True of a process that nothing holds: it computes, waits for a core, or has just ended.
[[nodiscard]] bool is_runnable(pid_t pid);
/// What is starved has so much more time than what hangs may have,
inline constexpr std::chrono::seconds kExtraTimeForRunnable{5};
/// and is looked at so often.
inline constexpr std::chrono::milliseconds kPollInterval{100};

/// Through a pipe, from such a process. It ends with a mark, so that one that was killed has not answered.
void send_answer(int fd, std::string answer);
/// What came until the pipe ended; empty: that is no whole answer.
[[nodiscard]] std::optional<std::string> whole_answer(std::string bytes);

/// Keeps the agent's processes for file work. A file system that answers nothing holds who asks it in a state in
/// which nothing ends it. A thread there would keep the whole agent, its descriptors and its memory; a
/// process keeps what it was given.
///
/// Without a signal at their end, waiting for "any child" does not find them: they are no part of the job, and nobody waits for one that hangs.
class HelperProcesses {
 public:
  /// `page` tells the guard of them.
  explicit HelperProcesses(GuardSharedMemory& page) : page_(page) {}
  HelperProcesses(const HelperProcesses&) = delete;
  HelperProcesses& operator=(const HelperProcesses&) = delete;
  ~HelperProcesses() { reap(); }

  [[nodiscard]] Result<pid_t> start(const std::vector<int>& kept,
                                    const std::function<void()>& work);
  /// KILLs one and forgets it: it ends when what it hangs in ends.
  void end(pid_t pid);

  /// Those that are alive, as far as we know.
  [[nodiscard]] const std::set<pid_t>& pids() const { return pids_; }

 private:
  void reap();

  GuardSharedMemory& page_;
  std::set<pid_t> pids_;
};

}  // namespace muster
