// Reads the context switches of threads twice.
#include "agent/hang/child_waits.hpp"

#include "base/text.hpp"
#include "environment/mounted_files.hpp"

#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace muster {

using Clock = std::chrono::steady_clock;

ChildWaits read_child_waits(pid_t program, const std::vector<Process>& below) {
  constexpr std::size_t kMost = 1'024;
  ChildWaits waits{Clock::now(), {}};
  for (const Process& process : below) {
    std::error_code failed;
    for (std::filesystem::directory_iterator task("/proc/" + std::to_string(process.pid) + "/task", failed), end;
         process.pid != program && !failed && task != end && waits.times.size() < kMost; task.increment(failed)) {
      const std::string folder = task->path().string();
      const std::string switches = value_at(read_fields(folder + "/status"), "voluntary_ctxt_switches");
      waits.times[folder] = std::strtoull(switches.c_str(), nullptr, 10);
    }
  }
  return waits;
}

bool have_waited_often(const ChildWaits& before, pid_t program, const std::vector<Process>& below,
                       Clock::time_point deadline) {
  constexpr std::chrono::milliseconds kLook{500};
  constexpr double kOften = 10;  // times a second
  constexpr double kLeast = 3;
  if (before.times.empty()) {
    return false;
  }
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(std::min(before.at + kLook, deadline) - Clock::now());
  (void)::poll(nullptr, 0, static_cast<int>(std::max(left.count(), std::int64_t{0})));
  const ChildWaits now = read_child_waits(program, below);
  const double least = std::max(kLeast, kOften * std::chrono::duration<double>(now.at - before.at).count());
  return std::ranges::any_of(now.times, [&](const auto& thread) {
    const auto found = before.times.find(thread.first);
    return found != before.times.end() && static_cast<double>(thread.second - found->second) >= least;
  });
}

}  // namespace muster
