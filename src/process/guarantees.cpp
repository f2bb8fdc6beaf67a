// From what the system answers to what muster promises: one row a promise. Pure.
#include "base/text.hpp"
#include "process/guarantees.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace muster {
namespace {

/// A promise that rests on one call.
struct Row {
  const char* name;
  const char* by;
  int SystemCapabilities::*answer;
  Support without;              ///< what is left of it where the call is refused
  const char* means;            ///< this, to who runs a job
  const char* since;            ///< the version of Linux that has the call
  const char* right = nullptr;  ///< the capability without which containers refuse it
};

// The texts are also what the start of a job says: docs/troubleshooting.md.
constexpr auto kRows = std::to_array<Row>({
    {"the order in which workers ended is known",
     "pidfd_open",
     &SystemCapabilities::pidfd_open,
     Support::InPart,
     "which of several workers that ended in the same moment was the first is not known, and the "
     "report says so",
     "5.3"},
    {"a signal reaches the process that is meant",
     "pidfd_send_signal",
     &SystemCapabilities::pidfd_send_signal,
     Support::InPart,
     "descendants of workers are signalled by their number, right after their start time was "
     "compared",
     "5.1"},
    {"processes whose parent has ended are found",
     "PR_SET_CHILD_SUBREAPER",
     &SystemCapabilities::subreaper,
     Support::Not,
     "a process of the job whose parent has ended is not found, and so not ended",
     "3.4"},
    {"workers end with muster, however it ends",
     "PR_SET_PDEATHSIG",
     &SystemCapabilities::death_signal,
     Support::Not,
     "should both processes of muster be killed at once, the workers run on",
     "2.1"},
    {"nothing forks faster than it is killed",
     "cgroup.kill",
     &SystemCapabilities::control_group,
     Support::InPart,
     "processes are killed in rounds; what forks without end may outrun them",
     "5.14"},
    {"workers inherit no descriptor but their three",
     "close_range",
     &SystemCapabilities::close_range,
     Support::InPart,
     "a descriptor above 4096 that muster was started with stays open in workers",
     "5.11"},
    {"supervision does not wait for names of hosts",
     "clone3",
     &SystemCapabilities::threads,
     Support::InPart,
     "names of hosts are looked up in place, and muster answers nobody meanwhile",
     "5.3"},
    {"workers can be bound to memory",
     "set_mempolicy",
     &SystemCapabilities::bind_to_memory,
     Support::InPart,
     "the memory of a bound worker is taken where it is first touched",
     "2.6",
     "CAP_SYS_NICE"},
    {"a kill for want of memory is recognised",
     "oom_kill",
     &SystemCapabilities::oom_counter,
     Support::InPart,
     "whether a worker that SIGKILL ended was killed for want of memory is not known",
     "4.13"},
});

constexpr const char* kMountGroups = "mount the container's control groups at /sys/fs/cgroup";

std::string remedy_for(int error_number, const Row& row) {
  switch (error_number) {
    case ENOSYS:
    case EINVAL:  // a flag of a later version
      return std::string("Linux ") + row.since + " or later has it; gVisor may in a later version";
    case EPERM:
    case EACCES:
      return row.right != nullptr
                 ? std::string("add ") + row.right + " to the container's capabilities"
                 : "the container's system call filter or rights forbid it: allow the call in the "
                   "profile (Docker does from 20.10 on)";
    case ENOENT:
      return kMountGroups;
    default:
      return "no other way is known";
  }
}

std::string remedy_for_group(int error_number, const Row& row) {
  switch (error_number) {
    case ENOENT:
      return std::string(kMountGroups) + ", version 2 (cgroup2)";
    case ENOSYS:
      return remedy_for(error_number, row);
    default:
      return "let the container write below its own control group (systemd: Delegate=yes)";
  }
}

Guarantee judge(const Row& row, const SystemCapabilities& answers) {
  const int error_number = answers.*row.answer;
  if (error_number == 0) {
    return {row.name, row.by, Support::Whole, "", "", ""};
  }
  const bool is_group = row.answer == &SystemCapabilities::control_group;
  return {row.name,
          row.by,
          row.without,
          std::string(row.by) + ": " + std::generic_category().message(error_number),
          row.means,
          is_group ? remedy_for_group(error_number, row) : remedy_for(error_number, row)};
}

/// Without one of these calls muster ends before anything runs.
Guarantee judge_needed(const char* name, const char* by, const std::string& refusal) {
  Guarantee guarantee{name, by, Support::Whole, "", "", ""};
  if (!refusal.empty()) {
    guarantee.hold = Support::Not;
    guarantee.because = refusal;
    guarantee.means = "no job starts";
    guarantee.remedy =
        "allow the call in the container's system call filter; the usual ones of all runtimes do";
  }
  return guarantee;
}

Guarantee judge_proc(ProcView view) {
  Guarantee guarantee{"every process of the job is seen", "/proc", Support::Whole, "", "", ""};
  if (view == ProcView::Whole) {
    return guarantee;
  }
  if (view == ProcView::Hidden) {
    guarantee.hold = Support::InPart;
    guarantee.because = "/proc hides processes of other users (hidepid)";
    guarantee.means =
        "a process of the job that became another user's, or whose program may not be "
        "read, is not found, and so not ended";
    guarantee.remedy =
        "run muster as the user that such programs become, or mount /proc without hidepid";
    return guarantee;
  }
  guarantee.hold = Support::Not;
  guarantee.because =
      view == ProcView::Missing ? "/proc cannot be read" : "/proc is that of another pid namespace";
  guarantee.means =
      "'/proc' does not show the processes that are here, going on without it: what leaves its "
      "worker's process group is not found, and so not ended, and limits of CPUs are not seen";
  guarantee.remedy = "mount it in the container: mount -t proc proc /proc (unshare: --mount-proc)";
  return guarantee;
}

std::string names_of(const std::vector<Guarantee>& all, Support hold, const std::string& title) {
  std::vector<std::string> names;
  for (const Guarantee& guarantee : all) {
    if (guarantee.hold == hold) {
      names.push_back(guarantee.name + " (" + guarantee.because + ")");
    }
  }
  return names.empty() ? "" : "; " + title + ": " + join(names, ", ");
}

}  // namespace

std::vector<Guarantee> guarantees(const SystemCapabilities& answers) {
  std::vector<Guarantee> all;
  all.reserve(kRows.size() + 3);
  all.push_back(judge_needed("a job can be run", "an event loop", answers.no_loop));
  all.push_back(judge_needed(
      "workers can be started", "pipe2, getrandom, setpgid, socket", answers.no_workers));
  all.push_back(judge_proc(answers.proc));
  for (const Row& row : kRows) {
    all.push_back(judge(row, answers));
  }
  return all;
}

std::string describe(const std::vector<Guarantee>& all) {
  const auto whole = std::count_if(all.begin(), all.end(), [](const Guarantee& guarantee) {
    return guarantee.hold == Support::Whole;
  });
  return std::to_string(whole) + " of " + count_of(all.size(), "guarantee") + " hold here" +
         names_of(all, Support::InPart, "in part") + names_of(all, Support::Not, "not");
}

}  // namespace muster
