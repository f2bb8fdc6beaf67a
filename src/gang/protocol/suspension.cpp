// Suspends the job after a notice: tells all workers, and says why the job ends when one of them has saved, when all
// have exited, or at the deadline. See docs/control.md.
#include "gang/protocol/suspension.hpp"

#include "base/text.hpp"
#include "supervise/supervisor.hpp"

#include <algorithm>

namespace muster::gang {

using std::chrono::milliseconds;

namespace {

std::string after(Instant::duration time) {
  return format_seconds(seconds_of(time)) + " s after the notice";
}

}  // namespace

void Suspension::note_notice(const std::string& source, std::optional<milliseconds> within, Instant now) {
  const Instant deadline =
      now + std::min(within.value_or(gang_.config.options.suspend_timeout), gang_.config.options.suspend_timeout);
  if (notice_ && notice_->deadline <= deadline) {
    return;
  }
  if (notice_) {
    notice_->deadline = deadline;
  } else {
    notice_ = Notice{source, now, deadline};
  }
  gang_.early_exit.cancel_deadline();  // a rank that has saved exits early
  admission_.cancel_newcomers_call();
  gang_.send(gang_.attempt.nodes(),
             Suspend{gang_.attempt.number(),
                     {notice_->source, std::chrono::duration_cast<milliseconds>(deadline - now), false}});
}

std::string Suspension::withdraw() {
  const auto& nodes = gang_.attempt.nodes();
  const auto is_gone = [&](LinkId link) {
    const Member* const member = gang_.roster.find(link);
    return member == nullptr || (member->has_ended && !member->has_succeeded);
  };
  if (std::any_of(nodes.begin(), nodes.end(), is_gone)) {
    has_departed_ = true;
    return "it was withdrawn when a node had ended already";
  }
  gang_.send(nodes, Suspend{gang_.attempt.number(), {notice_->source, {}, /*is_withdrawn=*/true}});
  forget();
  return {};
}

std::string Suspension::note_saved(const std::string& process, Instant now) {
  has_departed_ = true;
  if (notice_) {
    return process + " saved " + after(now - notice_->asked);
  }
  notice_ = Notice{process, now, now};
  return process + " saved its work and asked for it";
}

void Suspension::note_success(const Succeeded& succeeded) {
  has_departed_ = has_departed_ || succeeded.pid > 0;
}

std::string Suspension::note_all_succeeded() {
  has_departed_ = true;
  return "all processes ended with exit code 0 after the notice";
}

std::string Suspension::at_deadline(Instant now) const {
  return (has_departed_ ? "not all processes had ended " : "nobody had saved or ended with exit code 0, ") +
         after(now - notice_->asked);
}

std::string Suspension::after_all_have_ended(Instant now) const {
  return "all processes had ended " + after(now - notice_->asked);
}

JobEnd Suspension::end_by(const std::string& source, const std::string& what, EndKind kind) {
  return make_end(kind, "suspended (" + source + "): " + what);
}

bool Suspension::has_failed_instead() const {
  return notice_ && gang_.end && gang_.end->verdict == Verdict::Suspended && !has_departed_;
}

std::optional<milliseconds> Suspension::grace(Instant now) const {
  if (!notice_) {
    return std::nullopt;
  }
  const auto left = std::chrono::duration_cast<milliseconds>(notice_->deadline - now);
  return std::max(left, milliseconds(0)) + kLastGrace;
}

}  // namespace muster::gang
