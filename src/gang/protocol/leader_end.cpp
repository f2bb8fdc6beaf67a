// Ends an attempt on all nodes at once, and decides whether another attempt follows or the job ends.
#include "base/text.hpp"
#include "gang/protocol/leader.hpp"

#include <algorithm>
#include <csignal>

namespace muster::gang {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Timeout for the agents' goodbye: they only have to leave.
constexpr seconds kGoodbye{5};
/// Time for killing, for a stalled console and for a slow machine.
constexpr seconds kStopMargin{60};
constexpr std::size_t kPastAttempts = 10;
/// After this many similar failures in a row a warning says that a restart hardly helps.
constexpr int kHopeless = 3;

/// Removes the worker's output from an end that is sent with the urgent stop; the finish carries it.
std::optional<JobEnd> without_texts(std::optional<JobEnd> end) {
  if (end && end->first_failure) {
    end->first_failure->last_lines.clear();
    end->first_failure->error_message.clear();
  }
  return end;
}

}  // namespace

/// Stops all nodes at once. What follows is decided when no process of the attempt is alive.
void Leader::end_attempt(JobEnd end, int signal, Instant now, std::string reason) {
  const bool is_by_choice =
      end.verdict == Verdict::Succeeded || end.verdict == Verdict::Stopped || end.verdict == Verdict::Suspended;
  reason = reason.empty() ? end.reason : std::move(reason);
  attempt_.note_ending(std::move(reason), recorded(std::move(end)));
  if (is_by_choice || !restart_decider_.may_restart(now)) {
    end_ = attempt_.end_without_restart();
  }
  stop_nodes(signal, now);
}

void Leader::stop_nodes(int signal, Instant now) {
  if (const Member* const own = roster_.find(kOwnLink); own != nullptr && !own->has_ended) {
    attempt_.note_logged_here();
  }
  early_exit_.cancel_deadline();
  newcomers_call_.cancel();
  exchange_.end();
  stop_deadline_ = now + longest_stop();
  state_ = State::Stopping;
  std::vector<LinkId> alive;
  for (const LinkId link : attempt_.nodes()) {
    if (roster_.find(link) != nullptr) {
      alive.push_back(link);
    }
  }
  send(std::move(alive), Stop{attempt_.number(), signal, attempt_.reason(), without_texts(end_),
                              /*is_urgent=*/false, asked_grace_ ? asked_grace_ : grace_after_notice(now)});
  after_an_end(now);
}

/// Time after which every node has killed its workers and reported it, even if its console stalls.
milliseconds Leader::longest_stop() {
  milliseconds grace{0};
  for (const LinkId link : attempt_.nodes()) {
    const Member* const member = roster_.find(link);
    grace = std::max(grace, member != nullptr ? member->join.node.grace : milliseconds(0));
  }
  return grace + kStopMargin;
}

void Leader::give_up_stopping(Instant now) {
  stop_deadline_ = now + kStopMargin;
  for (const LinkId link : std::vector<LinkId>(attempt_.nodes())) {
    const Member* const member = roster_.find(link);
    if (link != kOwnLink && member != nullptr && !member->has_ended) {
      say(Level::Warning, "node " + to_string(*member->node_rank) + ", " + describe(*member) +
                              ", does not say that its workers have ended: going on without it");
      lose(link, "did not say that its workers have ended", now);
      actions_.emplace_back(Drop{link});
    }
  }
}

/// A node of this attempt is lost, and its processes may still be alive.
void Leader::lose(LinkId link, const std::string& why, Instant now) {
  Member& member = *roster_.find(link);
  const std::string reason = "node " + to_string(*member.node_rank) + ", " + describe(member) + ", was lost: it " + why;
  fence_.note_loss(member.last_heard);
  member.has_ended = true;
  attempt_.note_node_ended();
  const bool is_missed = state_ == State::Running && member.is_missed_if_lost();
  if (is_missed) {
    exchange_.end();  // no node gets a value that lacks its part
  }
  release(link, why, now);
  if (is_missed) {
    end_attempt(notice_ ? suspended_end(notice_->source, reason) : make_end(EndKind::Lost, reason), SIGTERM, now);
  } else {
    after_an_end(now);
  }
}

void Leader::after_an_end(Instant now) {
  if (state_ != State::Stopping || !attempt_.is_over()) {
    return;
  }
  name_first_failure();
  if (const auto& first = attempt_.first_failure();
      !end_ && first && restart_decider_.may_restart(now) && !why_incurable(*first).empty()) {
    say(Level::Warning, "no restart: " + why_incurable(*first));
    end_ = attempt_.end_without_restart();
  }
  if (end_) {
    conclude(*end_, now);
  } else {
    rest(now);
  }
}

/// Called when all nodes have reported the failures from before the end, with their output.
void Leader::name_first_failure() {
  if (has_failed_instead()) {
    attempt_.take_first_failure();
  }
  attempt_.rank_failures();
  const auto& first = attempt_.first_failure();
  if (!first || first->is_early_exit) {
    return;
  }
  JobEnd end = recorded(end_of(*first));
  if (end_ && (end_->first_failure || has_failed_instead())) {
    end_ = end;
  }
  attempt_.note_ending(describe_failure(*first), std::move(end));
}

/// The attempt is over: the next one begins after the back-off, and not before the fence of lost nodes has passed.
void Leader::rest(Instant now) {
  if (!attempt_.is_scaling_up() && !count_restart(now)) {
    return;
  }
  record_.past_attempts.push_back({attempt_.number(), attempt_.reason(), attempt_.is_loss()});
  if (record_.past_attempts.size() > kPastAttempts) {
    record_.past_attempts.erase(record_.past_attempts.begin());
  }
  attempt_.advance();
  notice_.reset();
  state_ = State::Resting;
  const Instant backoff_over = attempt_.is_scaling_up() ? now : now + restart_decider_.backoff();
  rest_until_ = std::max(backoff_over, fence_.until());
  log_next_step(fence_.until() > backoff_over, now);
  if (now >= rest_until_) {
    gather(now);
  }
}

/// False: the attempts make no progress, and the job has ended.
bool Leader::count_restart(Instant now) {
  const Instant::duration ran = attempt_.ran(now);
  restart_decider_.judge(attempt_.first_failure(), attempt_.made_progress(), ran);
  if (restart_decider_.is_hopeless()) {
    JobEnd end =
        make_end(EndKind::NoProgress, "no progress over " + std::to_string(restart_decider_.without_progress()) +
                                          " attempts, the last time: " + attempt_.reason());
    end.first_failure = attempt_.first_failure();
    conclude(std::move(end), now);
    return false;
  }
  restart_decider_.note_restart(now, ran);
  if (restart_decider_.alike() == kHopeless) {
    say(Level::Warning, std::to_string(kHopeless) +
                            " attempts in a row failed within a minute with the same last words: another restart "
                            "hardly helps (--no-progress-limit " +
                            std::to_string(kHopeless) + " ends such a job)");
  }
  return true;
}

void Leader::log_next_step(bool waits_for_fence, Instant now) {
  // A loss is logged once on each console.
  const bool is_logged = attempt_.is_loss() && attempt_.is_logged_here();
  const std::string count = attempt_.is_scaling_up()
                                ? " (no restart is counted)"
                                : " (restart " + std::to_string(restart_decider_.restarts()) + " of " +
                                      std::to_string(config_.options.restarts.max_restarts) + ")";
  say(attempt_.is_scaling_up() ? Level::Info : Level::Warning,
      (is_logged ? "" : attempt_.reason() + ": ") + "starting attempt " + std::to_string(attempt_.number()) + count +
          (rest_until_ > now ? " in " + format_seconds(seconds_of(rest_until_ - now)) + " s" : std::string()) +
          (waits_for_fence ? ", after the lost node's fencing time" : ""));
}

void Leader::conclude(JobEnd end, Instant now) {
  if (end.first_failure && attempt_.first_failure()) {
    end.first_failure = attempt_.first_failure();  // the same one, with its last lines
  }
  if (end.first_failure) {
    end.left_early = attempt_.left_before(*end.first_failure);
  }
  end = recorded(std::move(end));
  if (end.kind != EndKind::Suspended) {  // then ranks fail only because another one has left
    end.also_failed = attempt_.other_failures();
  }
  if (!end.first_failure) {
    end.also_failed.drop_asked();
  }
  end_ = end;
  state_ = State::Finishing;
  goodbye_deadline_ = now + kGoodbye;
  send(roster_.links(), Finish{std::move(end)});
  dissolve_if_alone();
}

/// Drops the nodes that did not answer the last message in time.
void Leader::drop_all_links() {
  for (const LinkId link : roster_.links()) {
    actions_.emplace_back(Drop{link});
    roster_.remove(link);
  }
  dissolve_if_alone();
}

void Leader::dissolve_if_alone() {
  if (state_ == State::Finishing && !roster_.has_others()) {
    state_ = State::Finished;
    actions_.emplace_back(GangClosed{});
  }
}

std::vector<std::string> Leader::awaited() const {
  std::vector<std::string> names;
  for (const auto& [link, member] : roster_.members()) {
    const std::string name = member.seat ? "node " + std::to_string(*member.seat) : "the spare " + describe(member);
    if (link != kOwnLink && state_ == State::Finishing) {
      names.push_back("goodbye of " + name);
    } else if (link != kOwnLink && state_ == State::Stopping && !member.has_ended) {
      names.push_back("end of the workers of " + name);
    }
  }
  return names;
}

/// True if the job has a replacement for the node, or may be smaller.
bool Leader::can_continue_without(LinkId link, Instant now) {
  std::vector<LinkId> others = roster_.spares();
  for (const LinkId seated : roster_.in_order()) {
    if (seated != link && !roster_.find(seated)->leaving_after) {
      others.push_back(seated);
    }
  }
  if (!restart_decider_.may_restart(now)) {
    return false;
  }
  if (!config_.job.total_slots) {
    return others.size() >= static_cast<std::size_t>(config_.job.least_nodes);
  }
  int slots = 0;
  for (const LinkId other : others) {
    slots += roster_.find(other)->join.node.slots;
  }
  return slots >= *config_.job.total_slots;
}

/// Adds the leader's record of the whole job.
JobEnd Leader::recorded(JobEnd end) const {
  end.attempt = attempt_.number();
  end.gang = record_;
  return end;
}

JobEnd Leader::end_of(const Failure& failure) const {
  JobEnd end = end_by_failure(failure);
  end.rank_zero_had_ended =
      early_exit_.has_rank_zero_ended() && failure.service.empty() && failure.global_rank.value != 0;
  return end;
}

// --- Ranks that exit early ----------------------------------------------------------------------

void Leader::note_success(LinkId link, const Succeeded& succeeded, Instant now) {
  Member& member = *roster_.find(link);
  early_exit_.note_success(*member.node_rank, member.join.node.host, succeeded, now);
  if (notice_) {
    has_departed_ = has_departed_ || succeeded.pid > 0;
    early_exit_.cancel_deadline();
  } else {
    note_newcomers(now);
  }
  if (succeeded.is_last && !member.has_succeeded) {
    member.has_succeeded = true;
    member.serves_others = succeeded.pid <= 0;
    attempt_.note_node_succeeded();
  }
  if (attempt_.has_succeeded() && notice_) {
    end_suspended("all processes ended with 0 after the notice", now);
    return;
  }
  if (attempt_.has_succeeded()) {
    end_attempt(make_end(EndKind::Succeeded, "all workers succeeded"), SIGTERM, now,
                "the processes that decide (" + join(attempt_.deciding_roles(), ", ") + ") have ended");
  }
}

void Leader::end_by_early_exit(Instant now) {
  JobEnd end = early_exit_.end_after_deadline(now);
  if (end.first_failure) {
    attempt_.note_first_failure(*end.first_failure);
    end.rank_zero_had_ended = end_of(*end.first_failure).rank_zero_had_ended;
  }
  end_attempt(std::move(end), SIGTERM, now);
}

}  // namespace muster::gang
