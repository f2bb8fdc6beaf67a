// How a job gives way after a notice: all workers are told, and the job ends when one of them has saved, when all have ended, or
// at the deadline. See docs/control.md.
#include "durations.hpp"
#include "leader.hpp"

#include <muster/base/text.hpp>
#include <muster/supervise/notice.hpp>

#include <algorithm>
#include <csignal>

namespace muster::gang {

using std::chrono::milliseconds;

namespace {

std::string after(Instant::duration time) {
  return format_seconds(seconds_of(time)) + " s after the notice";
}

}  // namespace

void Leader::take(LinkId /*link*/, const SuspendAsked& asked, Instant now) {
  if (asked.is_withdrawn) {
    withdraw_notice(now);
    return;
  }
  if (end_ || state_ == State::Finishing) {
    return;  // it ends already
  }
  const std::string source = asked.source;
  if (state_ == State::Running) {
    note_notice(source, asked.within, now);
  } else if (state_ == State::Stopping) {
    end_ = recorded(suspended_end(source, "the workers were ending"));
    after_an_end(now);
  } else {
    conclude(suspended_end(source, "no worker was running"), now);
  }
}

/// Of several notices the earliest deadline counts, and the first one is named.
void Leader::note_notice(const std::string& source,
                         std::optional<milliseconds> within,
                         Instant now) {
  const Instant deadline = now + std::min(within.value_or(policy_.options.suspend_timeout),
                                          policy_.options.suspend_timeout);
  if (notice_ && notice_->deadline <= deadline) {
    return;
  }
  if (notice_) {
    notice_->deadline = deadline;
  } else {
    notice_ = Notice{source, now, deadline};
  }
  early_exit_.cancel_deadline();  // who has saved ends early
  newcomers_call_.cancel();
  send(attempt_.nodes(),
       Suspend{attempt_.number(),
               {notice_->source, std::chrono::duration_cast<milliseconds>(deadline - now), false}});
}

/// A worker that has failed since then has failed.
void Leader::withdraw_notice(Instant now) {
  if (!notice_ || state_ != State::Running) {
    return;
  }
  attempt_.take_first_failure();
  if (const auto& failure = attempt_.first_failure()) {
    notice_.reset();
    end_attempt(end_of(*failure), SIGTERM, now, describe_failure(*failure));
    return;
  }
  const auto& nodes = attempt_.nodes();
  const auto is_gone = [&](LinkId link) {
    const Member* const member = roster_.find(link);
    return member == nullptr || (member->has_ended && !member->has_succeeded);
  };
  if (std::any_of(nodes.begin(), nodes.end(), is_gone)) {
    end_suspended("it was withdrawn when a node had ended already", now);
    return;
  }
  send(attempt_.nodes(), Suspend{attempt_.number(), {notice_->source, {}, /*is_withdrawn=*/true}});
  notice_.reset();
  has_anybody_left_ = false;
}

/// Without a notice the job gives way because its program wants to.
void Leader::take(LinkId /*link*/, const Saved& saved, Instant now) {
  if (state_ != State::Running || saved.attempt != attempt_.number()) {
    return;
  }
  if (!notice_) {
    notice_ = Notice{saved.process, now, now};
    end_suspended(saved.process + " saved its work and asked for it", now);
    return;
  }
  end_suspended(saved.process + " saved " + after(now - notice_->asked), now);
}

void Leader::end_suspended(const std::string& what, Instant now) {
  has_anybody_left_ = true;
  end_attempt(suspended_end(notice_->source, what), SIGTERM, now, "suspended: " + what);
}

/// What has failed meanwhile is known when all nodes have ended: `judge_suspended_end`.
void Leader::end_at_deadline(Instant now) {
  const std::string what =
      (has_anybody_left_ ? "not all processes had ended " : "nobody had saved or ended ") +
      after(now - notice_->asked);
  end_attempt(suspended_end(notice_->source, what), SIGTERM, now, "suspended: " + what);
}

/// All workers of all nodes have ended by themselves.
void Leader::end_after_all_have_ended(Instant now) {
  const std::string what = "all processes had ended " + after(now - notice_->asked);
  end_attempt(suspended_end(notice_->source, what), SIGTERM, now, "suspended: " + what);
}

JobEnd Leader::suspended_end(const std::string& source, const std::string& what) {
  return make_end(EndKind::Suspended, "suspended (" + source + "): " + what);
}

/// Who ends because another one has gone has not failed. Where nobody has gone well, a failure is one.
bool Leader::has_failed_instead() const {
  return notice_ && end_ && end_->kind == EndKind::Suspended && !has_anybody_left_;
}

/// The platform kills what is left at its own moment: our kill comes first.
std::optional<milliseconds> Leader::grace_after_notice(Instant now) const {
  if (!notice_) {
    return std::nullopt;
  }
  const auto left = std::chrono::duration_cast<milliseconds>(notice_->deadline - now);
  return std::max(left, milliseconds(0)) + kLastGrace;
}

}  // namespace muster::gang
