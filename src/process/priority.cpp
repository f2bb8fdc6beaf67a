// Sets priorities of CPU and disk (sched(7), ioprio_set(2)) and the order of OOM kills (proc_pid_oom_score_adj(5)).
#include "process/priority.hpp"

#include "base/file_io.hpp"
#include "base/text.hpp"
#include "process/rights.hpp"

#include <linux/capability.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>

namespace muster {
namespace {

constexpr const char* kFirstToBeKilled = "1000";

void write_oom_score(pid_t process, const std::string& score) {
  std::ofstream("/proc/" + std::to_string(process) + "/oom_score_adj") << score;
}

/// True if we may take a thread out of SCHED_IDLE: with CAP_SYS_NICE in the first user namespace, or within RLIMIT_NICE.
bool may_restore_scheduling() {
  constexpr int kHighestNice = 20;
  rlimit limit{};
  const int nice = ::getpriority(PRIO_PROCESS, 0);
  if (::getrlimit(RLIMIT_NICE, &limit) == 0 && limit.rlim_cur >= static_cast<rlim_t>(kHighestNice - nice)) {
    return true;
  }
  const auto rights = rights_of(::getpid());
  const auto users = read_regular_file("/proc/self/uid_map");
  const bool is_in_first_namespace = users && users->find("4294967295") != std::string::npos;
  return rights && is_in_first_namespace && ((rights->capabilities >> unsigned{CAP_SYS_NICE}) & 1U) != 0;
}

void set_disk_priority(pid_t thread, int priority) {
  (void)::syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, thread, priority);  // a kernel without it has no such priority
}

}  // namespace

bool lower_priority(pid_t process) {
  write_oom_score(process, kFirstToBeKilled);
  set_disk_priority(process, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
  const sched_param none{};
  return ::sched_getscheduler(0) == SCHED_OTHER && may_restore_scheduling() &&
         ::sched_setscheduler(process, SCHED_IDLE, &none) == 0;
}

void restore_priority(pid_t process) {
  const sched_param none{};
  const auto disk = static_cast<int>(::syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0));
  std::error_code failed;  // the process has ended
  const std::string threads = "/proc/" + std::to_string(process) + "/task";
  for (const auto& entry : std::filesystem::directory_iterator(threads, failed)) {
    const auto thread = parse_integer(entry.path().filename().string(), 1, std::numeric_limits<int>::max());
    set_disk_priority(thread.value_or(process), disk < 0 ? 0 : disk);
    if (::sched_getscheduler(thread.value_or(process)) == SCHED_IDLE) {
      (void)::sched_setscheduler(thread.value_or(process), SCHED_OTHER, &none);
    }
  }
  write_oom_score(process, read_regular_file("/proc/self/oom_score_adj").value_or("0"));
}

}  // namespace muster
