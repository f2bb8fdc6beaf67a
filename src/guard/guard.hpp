#pragma once

#include "guard/shared_page.hpp"

#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>

namespace muster {

/// What the agent must know about the guard, its parent.
struct GuardLink {
  pid_t guard = -1;
  /// Readable (at its end) when the guard is gone.
  UniqueFd lifeline;
  GuardSharedMemory& page;
  std::set<int> stop_signals;  ///< of which it hears first
  /// Readable when the guard was sent one (`GuardSignalNotifier`), which it has heard unless it is stopped. May be empty.
  UniqueFd notifier;
};

/// What the guard must know of the job, besides who the agent is.
struct GuardSetup {
  std::string marker;
  std::set<int>
      stop_signals;  ///< they ask the job to end; passed on besides those that muster always handles
  std::set<int> ignored_signals;  ///< of these, without effect: see `Inherited`
  std::chrono::milliseconds grace{};
};

/// Has the guard look at the page now; it sleeps while nobody counts on the agent.
void wake_guard(pid_t guard);

/// A guard that is stopped passes on no signal. Where one that asks for the end waits for it, it is sent CONT. Reads /proc.
/// Returns true where such a signal waits for a guard that is neither stopped, or not yet, nor held by a debugger.
[[nodiscard]] bool resume_stopped_guard(const GuardLink& link);

/// Splits the process in two. The *guard* keeps the pid that users see, passes signals on and
/// waits; its child, the *agent*, runs `work` and ends with what it returns. Each is a subreaper
/// in a process group of its own, so that no signal to a group ends both. When the agent is
/// killed the guard KILLs all that is left of the job; the agent does the same when the guard is.
///
/// Where others count on this node, and once the job was asked to end, the guard watches the agent: one that does not move
/// is killed with all of the job (see `AgentWatchdog`).
///
/// Processes that are the guard's children for other reasons are never signalled: those that it
/// had before (a shell that used `exec`), and those that it adopts as a container's first process,
/// unless they carry the marker.
///
/// Returns the exit code in the guard. The agent does not return.
[[nodiscard]] Result<int> run_guarded(const GuardSetup& setup,
                                      const std::function<int(GuardLink)>& work);

}  // namespace muster
