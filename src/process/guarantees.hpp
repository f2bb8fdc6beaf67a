#pragma once

// Guarantees that muster can keep on this system. Probes what the kernel allows, and derives the guarantees in one
// table: `muster doctor` prints it, and a job's start warns of losses (docs/troubleshooting.md).

#include "base/result.hpp"

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

namespace muster {

/// Visibility in /proc of a job's processes.
enum class ProcView {
  Whole,
  Missing,  ///< not mounted, or not readable
  Foreign,  ///< that of another pid namespace, whose pids mean other processes here
  Hidden    ///< without processes of other users (option hidepid)
};

/// Answers of the system: each number is 0 if the call works, else its errno.
struct SystemCapabilities {
  int pidfd_open = 0;
  int pidfd_send_signal = 0;
  int subreaper = 0;
  int death_signal = 0;
  int control_group = 0;  ///< ENOENT: none of version 2
  int close_range = 0;
  int threads = 0;  ///< clone3, and only where the C library has no fallback
  int bind_to_memory = 0;
  int oom_counter = 0;  ///< 0: the kernel counts OOM kills; ENOENT: it does not
  ProcView proc = ProcView::Whole;
  std::string no_loop;     ///< error of the event loop, "signalfd: Operation not permitted"; empty: none
  std::string no_workers;  ///< error of the calls that every start of workers makes; empty: none
  // Not guarantees, but explanations of refusals:
  bool is_filtered = false;    ///< by seccomp
  bool gains_nothing = false;  ///< NO_NEW_PRIVS: no program can change to another user
  std::uint64_t descriptors = 0;
};

/// Probes only the calls that a job's start warns of. Takes microseconds, changes and starts nothing.
SystemCapabilities probe_before_start();

/// Probes everything. Changes nothing, but makes a control group and removes it.
SystemCapabilities probe_system();

enum class Support {
  Whole,
  InPart,  ///< muster has a weaker fallback
  Not
};

/// A guarantee, and what is left of it.
struct Guarantee {
  std::string name;  ///< "processes whose parent has ended are found"
  std::string by;    ///< the call or file that it needs
  Support hold = Support::Whole;
  // Empty if it holds:
  std::string because;  ///< "PR_SET_CHILD_SUBREAPER: Operation not permitted"
  std::string means;
  std::string remedy;

  /// Warning logged once at the start of a job.
  std::string warning() const { return means + ": " + because; }
};

/// All guarantees, always in the same order. Pure.
std::vector<Guarantee> guarantees(const SystemCapabilities& answers);

/// "9 of 11 guarantees hold; in part: ...; not: ...", for one line.
std::string describe(const std::vector<Guarantee>& all);

// Calls that an event loop needs.

/// Makes each call once, because with a refused one the loop would end silently or spin. Takes microseconds. The
/// error is the call's, "signalfd: Operation not permitted".
[[nodiscard]] Result<> probe_event_loop();

/// A signalfd for these signals, which are blocked. The caller owns it. Throws Asio's exception if the system refuses
/// it: without it no job can run.
int open_signalfd(const sigset_t& signals);

/// Reads pending signals without waiting, each standard signal at most once. Later ones are for the next turn of the
/// loop: children that die faster than they are handled would starve everything else.
std::vector<int> read_signals(int file);

}  // namespace muster
