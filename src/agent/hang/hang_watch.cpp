// Carries out the steps of the stall detector.
#include "agent/hang/hang_watch.hpp"

#include <chrono>
#include <utility>

namespace muster {

HangWatch::HangWatch(ProcessLoop& loop, PendingWork& pending, const RunContext& run)
    : run_(run), record_(loop.queues().logs()), hook_(loop, pending, run), timer_(loop.io()) {}

void HangWatch::begin_attempt(const LaunchPlan& plan) {
  const bool has_files = run_.options.needs_files();
  record_.begin(has_files ? run_.log_folder + plan.stacks_file : "");
  hook_.begin(has_files ? run_.log_folder + plan.on_hang_file : "");
}

/// Only node 0 watches the job. A job of one rank gets no report, because no other rank can wait for it.
void HangWatch::start(const LaunchPlan& plan) {
  const HangOptions& hangs = run_.options.hangs;
  using Seconds = std::chrono::duration<double>;
  const hang::StallDetector::Limits limits{plan.world_size > 1 ? Seconds(hangs.report).count() : 0,
                                           Seconds(hangs.timeout).count(), Seconds(hangs.first_meeting).count()};
  if (plan.placement.node_rank.value == 0 && !plan.is_transparent && limits.are_any()) {
    detector_.emplace(limits, plan.world_size);
    look_after(detector_->first_delay());
  }
}

void HangWatch::stop() {
  timer_.cancel();
  gathering_.end();
  detector_.reset();
}

void HangWatch::look_after(double seconds) {
  timer_.start(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds)), [this] {
    const QuietSeconds quiet = quiet_seconds();
    act(detector_->on_time(quiet.all, quiet.others));
  });
}

void HangWatch::act(const hang::StallDetector::Step& step) {
  report(step);
  if (!step.gathers) {
    look_after(step.delay);
    return;
  }
  gather(step.asks_recorders,
         gathering_.wrap([this](hang::Evidence evidence) { act(detector_->on_evidence(std::move(evidence))); }));
}

}  // namespace muster
