// Carries out the steps of the stall detector.
#include "agent/hang/hang_watch.hpp"

#include <chrono>
#include <utility>

namespace muster {

void HangWatch::start(hang::StallDetector detector) {
  detector_ = std::move(detector);
  look_after(detector_->first_delay());
}

void HangWatch::stop() {
  timer_.cancel();
  gathering_.end();
  detector_.reset();
}

void HangWatch::look_after(double seconds) {
  timer_.start(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds)), [this] {
    const QuietSeconds quiet = owner_.quiet_seconds();
    act(detector_->on_time(quiet.all, quiet.others));
  });
}

void HangWatch::act(const hang::StallDetector::Step& step) {
  owner_.report(step);
  if (!step.gathers) {
    look_after(step.delay);
    return;
  }
  owner_.gather(step.asks_recorders,
                gathering_.wrap([this](hang::Evidence evidence) { act(detector_->on_evidence(std::move(evidence))); }));
}

}  // namespace muster
