#pragma once

// Which of its promises muster can keep on this system. What the system allows is asked, what follows from the answers is
// one table: `muster doctor` prints it, and the start of a job says what is lost (docs/troubleshooting.md).

#include "base/result.hpp"

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

namespace muster {

/// What /proc shows of the processes of a job.
enum class ProcView {
  Whole,
  Missing,  ///< not mounted, or not readable
  Foreign,  ///< that of another pid namespace: its numbers mean nothing here
  Hidden    ///< without those of other users (the option hidepid)
};

/// What the system answered: each number is 0 where a call does what it is asked, else its errno.
struct SystemCapabilities {
  int pidfd_open = 0;
  int pidfd_send_signal = 0;
  int subreaper = 0;
  int death_signal = 0;
  int control_group = 0;  ///< ENOENT: there is none of version 2
  int close_range = 0;
  int threads = 0;  ///< clone3, and only where the C library has no way around it
  int bind_to_memory = 0;
  int oom_counter = 0;  ///< ENOENT: there is none
  ProcView proc = ProcView::Whole;
  std::string no_loop;     ///< why there can be no event loop: "signalfd: Operation not permitted"; empty: there can
  std::string no_workers;  ///< the same of the calls that every start of workers makes
  // What is no promise, but explains refusals:
  bool is_filtered = false;    ///< by seccomp
  bool gains_nothing = false;  ///< NO_NEW_PRIVS: no program of the job becomes another user's
  std::uint64_t descriptors = 0;
};

/// Asks only what a guarantee can be lost by. It takes microseconds, changes nothing and starts nothing.
[[nodiscard]] SystemCapabilities probe_before_start();

/// Asks everything. Changes nothing, but that it makes a control group and removes it.
[[nodiscard]] SystemCapabilities probe_system();

enum class Support {
  Whole,
  InPart,  ///< muster has another way, which is less
  Not
};

/// One promise, and what has become of it.
struct Guarantee {
  std::string name;  ///< "processes whose parent has ended are found"
  std::string by;    ///< the call or file that it rests on
  Support hold = Support::Whole;
  // Empty where it holds:
  std::string because;  ///< "PR_SET_CHILD_SUBREAPER: Operation not permitted"
  std::string means;
  std::string remedy;

  /// What is said of it once at the start of a job.
  [[nodiscard]] std::string warning() const { return means + ": " + because; }
};

/// All of them, always in the same order. Pure.
[[nodiscard]] std::vector<Guarantee> guarantees(const SystemCapabilities& answers);

/// "9 of 11 guarantees hold; in part: ...; not: ...": for one line.
[[nodiscard]] std::string describe(const std::vector<Guarantee>& all);

// Whether the system allows what an event loop is made of.

/// Makes each of these calls once. Refused, a loop would end without a word, or turn for ever. It takes microseconds. Fails with
/// the call alone: "signalfd: Operation not permitted".
[[nodiscard]] Result<> probe_event_loop();

/// A descriptor from which these signals, which are blocked, are read. The caller owns it. Throws what Asio throws where the
/// system refuses a descriptor: without it no job can be run.
[[nodiscard]] int open_signalfd(const sigset_t& signals);

/// What is pending there, without waiting; each standard signal once at most. What comes while its reader acts on these is for
/// the next turn of its loop: children that die faster than one can look at them would keep it from all else.
[[nodiscard]] std::vector<int> read_signals(int file);

}  // namespace muster
