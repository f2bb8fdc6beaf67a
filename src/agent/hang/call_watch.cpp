// Reads the state of each worker. The files of /proc that are read here make nobody wait.
#include "agent/hang/call_watch.hpp"

#include "agent/hang/rank_evidence.hpp"
#include "environment/mounted_files.hpp"
#include "process/descendants.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>

namespace muster {
namespace {

/// Latest time in a call after which the call is logged; half of --hang-report if that is earlier.
constexpr std::chrono::milliseconds kLatestReport{30'000};

hang::LongCalls::Limits limits_of(const HangOptions& hangs) {
  return {.report = std::min(hangs.report / 2, kLatestReport), .failure = hangs.call};
}

/// Counts how often the main thread has given up the CPU; empty: it is in no uninterruptible call.
std::optional<std::uint64_t> waits_in_call(pid_t process) {
  const auto seen = find_process(process);
  if (!seen || seen->state != 'D') {
    return {};
  }
  std::uint64_t waits = 0;
  for (const auto& [name, value] : read_fields("/proc/" + std::to_string(process) + "/status")) {
    waits += name.ends_with("_ctxt_switches") ? std::strtoull(value.c_str(), nullptr, 10) : 0;
  }
  return waits;
}

}  // namespace

CallWatch::CallWatch(const AttemptInput& input, const LaunchPlan& plan, const Workers& workers)
    : workers_(workers),
      count_(plan.workers.size()),
      is_wanted_(!plan.is_transparent && count_ > 0 &&
                 (input.run.options.hangs.report.count() > 0 || input.run.options.hangs.call.count() > 0) &&
                 is_proc_ours()),
      calls_(limits_of(input.run.options.hangs)),
      timer_(input.io) {}

void CallWatch::start() {
  if (is_wanted_) {
    timer_.start(calls_.next_delay(hang::LongCalls::Clock::now()), [this] { look(); });
  }
}

void CallWatch::look() {
  start();  // first: the handlers of what is found may cancel it
  for (std::size_t i = 0; i < count_ && timer_.is_pending(); ++i) {
    read_state(i);
  }
  if (timer_.is_pending()) {
    start();  // sooner, where a call was found
  }
}

void CallWatch::read_state(std::size_t worker) {
  if (!workers_.is_alive(worker)) {
    calls_.forget(worker);
    return;
  }
  using Change = hang::LongCalls::Change;
  const pid_t process = workers_.pid(worker);
  const auto [change, length] = calls_.note(worker, waits_in_call(process), hang::LongCalls::Clock::now());
  const auto seconds = std::chrono::round<std::chrono::seconds>(length);
  if (change == Change::IsOver) {
    on_over({worker, seconds, {}});
  } else if (change != Change::None) {
    const auto& tell = change == Change::IsLong ? on_long : on_too_long;
    tell({worker, seconds, kernel_function_of(process)});
  }
}

std::string describe(const CallWatch::Found& found) {
  return "has been in an uninterruptible system call for " + std::to_string(found.length.count()) + " s" +
         (found.function.empty() ? "" : " (" + found.function + ")");
}

}  // namespace muster
