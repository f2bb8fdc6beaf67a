// Starts and stops the sources of notices, and passes their notices on.
#include "agent/suspend_requests.hpp"

#include <algorithm>
#include <csignal>

namespace muster {
namespace {

/// Name of pending work.
constexpr const char* kNoticeSources = "whoever wanted the job to give way";

}  // namespace

void SuspendRequests::start() {
  sources_ = make_notice_sources(loop_.io(), loop_.helpers(), options_.suspend, *this);
  for (const auto& source : sources_) {
    source->start();
  }
}

/// A signal that usually ends a job is followed by the platform's SIGKILL after its grace period.
void SuspendRequests::request(int signal) {
  loop_.heartbeats().start_heartbeats();  // the guard has got the signal, too
  const bool is_usual_end = signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
  take_notice(signal_name(signal), is_usual_end ? std::optional(time_to_save(options_.grace)) : std::nullopt);
}

void SuspendRequests::on_delivered() {
  for (const auto& source : sources_) {
    source->on_delivered();
  }
}

/// Each source bounds its report by its own timeout.
void SuspendRequests::end(bool is_suspended) {
  for (const auto& source : sources_) {
    source->stop();
  }
  pending_ = is_suspended ? sources_.size() : 0;
  for (std::size_t i = 0; i < sources_.size() && is_suspended; ++i) {
    shutdown_.pending_work().add(kNoticeSources);
    sources_[i]->on_suspended();
  }
}

/// Limits each notice to the time left in the allocation.
void SuspendRequests::take_notice(const std::string& source, std::optional<std::chrono::milliseconds> within) {
  if (const auto left = options_.suspend.time_left()) {
    within = within ? std::min(*within, *left) : *left;
  }
  gang_.notify(gang::SuspendRequested{source, within});
}

void SuspendRequests::withdraw_notice(const std::string& source) {
  gang_.notify(gang::SuspendRequested{source, {}, /*is_withdrawn=*/true});
}

void SuspendRequests::note_source_done() {
  if (--pending_ == 0) {
    shutdown_.wait_for_last_lines();  // the source may have logged something
    shutdown_.pending_work().remove(kNoticeSources);
  }
}

}  // namespace muster
