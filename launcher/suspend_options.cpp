// Reads how the job gives way after a notice.
#include "allocation_end.hpp"
#include "requests.hpp"

#include "base/signals.hpp"
#include "base/text.hpp"
#include "options/typed_settings.hpp"
#include "supervise/exit_status.hpp"

#include <algorithm>
#include <array>
#include <csignal>

namespace muster {
namespace {

/// These are handled by the kernel, or come without that anybody sends a notice.
constexpr auto kNoNotices = std::to_array(
    {SIGKILL, SIGSTOP, SIGCHLD, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE, SIGWINCH});

Result<> read_signal(std::optional<int>& target, const Settings& settings, const char* name) {
  const auto given = settings.find(name);
  if (!given) {
    return {};
  }
  const auto signal = parse_signal(trim(given->value));
  if (!signal) {
    return wrong_value(*given, "a signal such as TERM or USR1");
  }
  if (std::find(kNoNotices.begin(), kNoNotices.end(), *signal) != kNoNotices.end()) {
    return wrong_value(*given, "a signal that can be a notice, not " + signal_name(*signal));
  }
  target = *signal;
  return {};
}

Result<> read_cloud(std::optional<Cloud>& target, const Settings& settings) {
  const auto given = settings.find("watch-notices");
  if (!given) {
    return {};
  }
  for (const auto& [name, cloud] : {std::pair("aws", Cloud::Aws),
                                    std::pair("gcp", Cloud::Gcp),
                                    std::pair("azure", Cloud::Azure)}) {
    if (given->value == name) {
      target = cloud;
      return {};
    }
  }
  return wrong_value(*given, "aws, gcp or azure");
}

}  // namespace

Result<> read_suspend_options(RunOptions& options,
                              const Settings& settings,
                              const Snapshot& snapshot) {
  SuspendOptions& suspend = options.suspend;
  for (const auto& [name, target] : {std::pair("suspend-signal", &suspend.signal),
                                     std::pair("tell-workers-by", &suspend.tells_by)}) {
    if (auto read = read_signal(*target, settings, name); !read) {
      return read;
    }
  }
  if (suspend.signal) {
    const Sourced<std::string> given = *settings.find("suspend-signal");
    if (!options.stop_signals.make_notice(*suspend.signal)) {
      return Error{blame(given.source),
                   given.source.name + " is '" + given.value + "', and " +
                       settings.find("signals-to-handle")->source.name +
                       " names it as a signal that ends the job"};
    }
  }
  if (auto read = read_cloud(suspend.watched, settings); !read) {
    return read;
  }
  if (auto read = read_duration(
          suspend.before_end, settings, "suspend-before-end", {.is_least_allowed = false});
      !read) {
    return read;
  }
  suspend.allocation_end = find_allocation_end(snapshot, suspend.before_end.has_value());
  if (suspend.before_end && !suspend.allocation_end) {
    return wrong_value(*settings.find("suspend-before-end"),
                       "an allocation whose end is known: by SLURM_JOB_END_TIME, 'flux job "
                       "timeleft', or the time_left of LSF's bjobs");
  }
  return {};
}

}  // namespace muster
