// Reads how the job gives way after a notice.
#include "requests.hpp"

#include <muster/base/signals.hpp>
#include <muster/base/text.hpp>
#include <muster/options/typed_settings.hpp>
#include <muster/supervise/exit_status.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdint>

namespace muster {
namespace {

/// When an allocation of Slurm ends, in seconds since 1970 (sbatch(1)).
constexpr const char* kEndOfAllocation = "SLURM_JOB_END_TIME";

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

/// What is no whole number of seconds says nothing.
std::optional<std::chrono::system_clock::time_point> find_allocation_end(const Snapshot& snapshot) {
  const std::string text = snapshot.variable(kEndOfAllocation).value_or("");
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr std::int64_t kLatestEnd = 9'000'000'000;  // the clock counts nanoseconds in 64 bits
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  if (!is_whole || seconds <= 0 || seconds > kLatestEnd) {
    return std::nullopt;
  }
  return std::chrono::system_clock::time_point(std::chrono::seconds(seconds));
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
  suspend.allocation_end = find_allocation_end(snapshot);
  if (auto read = read_duration(
          suspend.before_end, settings, "suspend-before-end", {.is_least_allowed = false});
      !read) {
    return read;
  }
  if (suspend.before_end && !suspend.allocation_end) {
    return wrong_value(
        *settings.find("suspend-before-end"),
        std::string("a platform that says when the allocation ends, in ") + kEndOfAllocation);
  }
  return {};
}

}  // namespace muster
