// Ends an attempt on all nodes at once, and decides whether another attempt follows or the job ends.
#include "gang/protocol/attempt_end.hpp"

#include "base/signals.hpp"
#include "base/text.hpp"
#include "supervise/first_failure.hpp"
#include "supervise/node_reason.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace muster::gang {
namespace {

using std::chrono::milliseconds;

/// Added to the limit for a stop: time for killing, for a stalled console and for a slow machine.
constexpr std::chrono::seconds kStopMargin{60};
constexpr std::size_t kPastAttempts = 10;
/// After this many similar failures in a row a warning says that a restart hardly helps.
constexpr int kHopeless = 3;

/// Removes the output lines from an end that is sent with an urgent stop: the later finish has them.
std::optional<JobEnd> without_texts(std::optional<JobEnd> end) {
  if (end && end->first_failure) {
    end->first_failure->last_lines.clear();
    end->first_failure->error_message.clear();
  }
  return end;
}

/// The end of the first failure's output, for the report of a job that goes on.
std::vector<std::string> last_lines_of(const std::optional<Failure>& failure) {
  std::vector<std::string> lines = failure ? failure->last_lines : std::vector<std::string>();
  lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(std::min(lines.size(), kPastLines)));
  for (std::string& line : lines) {
    line = shortened(line, OtherFailures::kLineBytes);
  }
  return lines;
}

/// Describes other failures that may have been first: "rank 1 on node 0 (node-a), exit code 1 | ValueError: x".
std::vector<std::string> describe_others(const OtherFailures& others) {
  std::vector<std::string> described;
  for (const Failure& other : others.listed) {
    if (other.knows_order || other.was_asked || described.size() == kPastOthers) {
      continue;
    }
    std::string& text = described.emplace_back(name_of_failed(other));
    text += " on " + describe_node(other.node, other.host) + ", ";
    text += other.status ? describe_status(other) : other.start_error;
    text += other.last_lines.empty() ? "" : " | " + other.last_lines.back();
  }
  return described;
}

/// Names the request: "node 1 was asked to stop (SIGTERM)", or "muster stop on node 1 (user 1000, pid 4711)". A job
/// of one node does not name its node; the text is empty if a signal stops it.
std::string describe_request(const GangState& gang, const Member& member, const StopFromAgent& request) {
  const auto seat = member.seat ? std::to_string(*member.seat) : "";
  const std::string node = member.node_rank ? to_string(*member.node_rank) : seat;
  const bool is_alone = gang.config.job.most_nodes == 1;
  if (!request.requester.empty()) {
    return "muster stop" + (is_alone ? "" : " on node " + node) + " (" + request.requester + ")";
  }
  return is_alone ? "" : "node " + node + " was asked to stop (" + signal_name(request.signal) + ")";
}

JobEnd end_by_request(const std::string& request, int signal) {
  JobEnd end = end_by_signal(signal);
  end.reason += request.empty() ? "" : ": " + request;
  return end;
}

}  // namespace

void AttemptEnd::end_attempt(JobEnd end, int signal, Instant now, std::string reason) {
  const bool is_by_choice =
      end.verdict == Verdict::Succeeded || end.verdict == Verdict::Stopped || end.verdict == Verdict::Suspended;
  reason = reason.empty() ? end.reason : std::move(reason);
  gang_.attempt.note_ending(std::move(reason), gang_.recorded(std::move(end)));
  if (is_by_choice || !gang_.restart_decider.may_restart(now)) {
    gang_.end = gang_.attempt.end_without_restart();
  }
  stop_nodes(signal, now);
}

void AttemptEnd::end_suspended(const std::string& what, Instant now, EndKind kind) {
  end_attempt(suspension_.end(what, kind), SIGTERM, now, "suspended: " + what);
}

void AttemptEnd::stop_nodes(int signal, Instant now) {
  if (const Member* const own = gang_.roster.find(kOwnLink); own != nullptr && !own->has_ended) {
    gang_.attempt.note_logged_here();
  }
  gang_.early_exit.cancel_deadline();
  admission_.cancel_newcomers_call();
  gang_.exchange.end();
  stop_deadline_ = now + longest_stop();
  gang_.state = LeaderState::Stopping;
  std::vector<LinkId> alive = gang_.attempt.nodes();
  std::erase_if(alive, [this](LinkId link) { return gang_.roster.find(link) == nullptr; });
  gang_.send(std::move(alive), Stop{gang_.attempt.number(), signal, gang_.attempt.reason(), without_texts(gang_.end),
                                    /*is_urgent=*/false, asked_grace_ ? asked_grace_ : suspension_.grace(now)});
  after_an_end(now);
}

/// Time after which every node has killed its workers and reported it, even if its console stalls.
milliseconds AttemptEnd::longest_stop() {
  milliseconds grace{0};
  for (const LinkId link : gang_.attempt.nodes()) {
    const Member* const member = gang_.roster.find(link);
    grace = std::max(grace, member != nullptr ? member->join.node.grace : milliseconds(0));
  }
  return grace + kStopMargin;
}

void AttemptEnd::after_an_end(Instant now) {
  if (gang_.state != LeaderState::Stopping || !gang_.attempt.is_over()) {
    return;
  }
  name_first_failure();
  count_node_failure();
  if (const auto& first = gang_.attempt.first_failure();
      !gang_.end && first && gang_.restart_decider.may_restart(now) && !why_incurable(*first).empty()) {
    gang_.say(Level::Warning, "no restart: " + why_incurable(*first));
    gang_.end = gang_.attempt.end_without_restart();
  }
  if (gang_.end) {
    goodbye_.conclude(*gang_.end, now);
  } else {
    rest(now);
  }
}

/// Called when all nodes have reported the failures from before the end, with their output.
void AttemptEnd::name_first_failure() {
  if (suspension_.has_failed_instead()) {
    gang_.attempt.take_first_failure();
  }
  gang_.attempt.rank_failures();
  const auto& first = gang_.attempt.first_failure();
  if (!first || first->is_early_exit) {
    return;
  }
  JobEnd end = gang_.recorded(gang_.end_of(*first));
  if (gang_.end && (gang_.end->first_failure || suspension_.has_failed_instead())) {
    gang_.end = end;
  }
  gang_.attempt.note_ending(describe_failure(*first), std::move(end));
}

/// Counts the attempt against a node if the node itself, and not its program, has ended it. A lost node counts only
/// in jobs of three nodes or more: of two nodes, nobody knows which one was out of reach.
void AttemptEnd::count_node_failure() {
  const Verdict verdict = gang_.attempt.end_without_restart().verdict;
  if (suspension_.is_noticed() || (verdict != Verdict::Failed && verdict != Verdict::Lost)) {
    return;
  }
  const NodeFailures& failures = gang_.node_failures;
  const auto& first = gang_.attempt.first_failure();
  const auto reason = first ? find_node_reason(*first) : std::nullopt;
  std::optional<NodeRank> node;
  std::string why;
  if (reason) {
    node = reason->rank ? node_of_rank(*reason->rank) : first->node;
    why = reason->text;
  } else if (failures.losses().size() == 1 && gang_.attempt.nodes().size() > 2 &&
             (!first || classify(*first) == FailureKind::LostPeer)) {
    const NodeLoss& loss = failures.losses().front();
    node = loss.why.empty() ? std::nullopt : std::optional(loss.node);
    why = "lost: it " + loss.why;
  }
  if (const NodeName* const name = node ? failures.node(*node) : nullptr) {
    gang_.note_node_failure(*node, NodeName(*name),
                            "in attempt " + std::to_string(gang_.attempt.number()) + " (" + why + ")");
  }
}

/// The node of the attempt that has this rank; empty: not known, or the node is gone.
std::optional<NodeRank> AttemptEnd::node_of_rank(int rank) const {
  for (const LinkId link : gang_.attempt.nodes()) {
    const Member* const member = gang_.roster.find(link);
    if (member != nullptr && member->ranks && std::ranges::binary_search(*member->ranks, rank)) {
      return member->node_rank;
    }
  }
  return std::nullopt;
}

/// The attempt is over: the next one begins after the back-off, and not before the fence of lost nodes has passed.
void AttemptEnd::rest(Instant now) {
  if (!gang_.attempt.is_scaling_up() && !count_restart(now)) {
    return;
  }
  gang_.record.past_attempts.push_back({gang_.attempt.number(), gang_.attempt.reason(), gang_.attempt.is_loss(),
                                        last_lines_of(gang_.attempt.first_failure()),
                                        describe_others(gang_.attempt.other_failures())});
  if (gang_.record.past_attempts.size() > kPastAttempts) {
    gang_.record.past_attempts.erase(gang_.record.past_attempts.begin());
  }
  gang_.attempt.advance();
  suspension_.forget();
  gang_.state = LeaderState::Resting;
  const Instant backoff_over = gang_.attempt.is_scaling_up() ? now : now + gang_.restart_decider.backoff();
  rest_until_ = std::max(backoff_over, gang_.fence.until());
  log_next_step(gang_.fence.until() > backoff_over, now);
  if (now >= rest_until_) {
    rendezvous_.gather(now);
  }
}

/// Counts a restart. False: the attempts make no progress, and the job has ended.
bool AttemptEnd::count_restart(Instant now) {
  const Instant::duration ran = gang_.attempt.ran(now);
  gang_.restart_decider.judge(gang_.attempt.first_failure(), gang_.attempt.made_progress(), ran);
  if (gang_.restart_decider.is_hopeless()) {
    JobEnd end =
        make_end(EndKind::NoProgress, "no progress over " + std::to_string(gang_.restart_decider.without_progress()) +
                                          " attempts, the last time: " + gang_.attempt.reason());
    end.first_failure = gang_.attempt.first_failure();
    goodbye_.conclude(std::move(end), now);
    return false;
  }
  gang_.restart_decider.note_restart(now, ran);
  if (gang_.restart_decider.alike() == kHopeless) {
    gang_.say(Level::Warning, std::to_string(kHopeless) +
                                  " attempts in a row failed within a minute with the same last words: another restart "
                                  "hardly helps (--no-progress-limit " +
                                  std::to_string(kHopeless) + " ends such a job)");
  }
  return true;
}

void AttemptEnd::log_next_step(bool waits_for_fence, Instant now) {
  // A loss is logged once on each console.
  const bool is_logged = gang_.attempt.is_loss() && gang_.attempt.is_logged_here();
  const std::string count = gang_.attempt.is_scaling_up()
                                ? " (no restart is counted)"
                                : " (restart " + std::to_string(gang_.restart_decider.restarts()) + " of " +
                                      std::to_string(gang_.config.options.restarts.max_restarts) + ")";
  gang_.say(gang_.attempt.is_scaling_up() ? Level::Info : Level::Warning,
            (is_logged ? "" : gang_.attempt.reason() + ": ") + "starting attempt " +
                std::to_string(gang_.attempt.number()) + count +
                (rest_until_ > now ? " in " + format_seconds(seconds_of(rest_until_ - now)) + " s" : std::string()) +
                (waits_for_fence ? ", after the lost node's fencing time" : ""));
}

void AttemptEnd::note_success(LinkId link, const Succeeded& succeeded, Instant now) {
  Member& member = *gang_.roster.find(link);
  gang_.early_exit.note_success(*member.node_rank, member.join.node.host, succeeded, now);
  if (suspension_.is_noticed()) {
    suspension_.note_success(succeeded);
    gang_.early_exit.cancel_deadline();
  } else {
    admission_.note_newcomers(now);
  }
  if (succeeded.is_last && !member.has_succeeded) {
    member.has_succeeded = true;
    member.serves_others = succeeded.pid <= 0;
    gang_.attempt.note_node_succeeded();
  }
  if (!gang_.attempt.has_succeeded()) {
    return;
  }
  if (suspension_.is_noticed()) {
    end_suspended(suspension_.note_all_succeeded(), now);
  } else {
    end_attempt(make_end(EndKind::Succeeded, "all workers succeeded"), SIGTERM, now,
                "the processes that decide (" + join(gang_.attempt.deciding_roles(), ", ") + ") have ended");
  }
}

void AttemptEnd::scale_up(Instant now) {
  const std::vector<LinkId> joining = admission_.newcomers();
  const std::string reason = joining.size() == 1 ? describe(*gang_.roster.find(joining.front())) + " joins the job"
                                                 : count_of(joining.size(), "node") + " join the job";
  gang_.attempt.note_ending(reason,
                            gang_.recorded(make_end(EndKind::SystemRefused, reason + ", and it cannot start again")));
  gang_.attempt.note_scaling_up();
  stop_nodes(SIGTERM, now);
}

void AttemptEnd::stop_by_request(const Member& asked, const StopFromAgent& request, Instant now) {
  asked_grace_ = request.most_grace;
  const std::string reason = describe_request(gang_, asked, request);
  JobEnd end = end_by_request(reason, request.signal);
  if (gang_.state == LeaderState::Running) {
    end_attempt(std::move(end), request.signal, now, reason);
  } else if (gang_.state == LeaderState::Stopping) {
    end_without_restart(std::move(end), now);
  } else {
    goodbye_.conclude(std::move(end), now);
  }
}

void AttemptEnd::end_without_restart(JobEnd end, Instant now) {
  gang_.end = gang_.recorded(std::move(end));
  after_an_end(now);
}

void AttemptEnd::limit_grace(const StopFromAgent& request) {
  gang_.send(nodes_that_have_not_ended(),
             Stop{gang_.attempt.number(), request.signal, gang_.attempt.reason(), gang_.end,
                  /*is_urgent=*/false, request.most_grace});
}

void AttemptEnd::hurry(const Member& asked, int signal, Instant now) {
  const std::string request = describe_request(gang_, asked, StopFromAgent{signal});
  if (gang_.state == LeaderState::Running) {
    end_attempt(end_by_request(request, signal), signal, now, request);
  }
  if (gang_.state != LeaderState::Stopping) {
    return;
  }
  if (!gang_.end) {
    gang_.end = gang_.recorded(end_by_request(request, signal));
  }
  gang_.send(nodes_that_have_not_ended(),
             Stop{gang_.attempt.number(), signal, gang_.attempt.reason(), gang_.end, /*is_urgent=*/true, {}});
}

std::vector<LinkId> AttemptEnd::nodes_that_have_not_ended() const {
  std::vector<LinkId> alive = gang_.attempt.nodes();
  std::erase_if(alive, [this](LinkId link) {
    const Member* const member = gang_.roster.find(link);
    return member == nullptr || member->has_ended;
  });
  return alive;
}

std::vector<LinkId> AttemptEnd::take_late_nodes(Instant now) {
  stop_deadline_ = now + kStopMargin;
  std::vector<LinkId> late = nodes_that_have_not_ended();
  std::erase(late, kOwnLink);
  return late;
}

std::optional<Instant> AttemptEnd::next_wake() const {
  if (gang_.state == LeaderState::Resting) {
    return rest_until_;
  }
  return gang_.state == LeaderState::Stopping && gang_.roster.has_others() ? std::optional(stop_deadline_)
                                                                           : std::nullopt;
}

void AttemptEnd::on_tick(Instant now) {
  if (gang_.state == LeaderState::Running && now >= gang_.early_exit.deadline().value_or(Instant::max())) {
    JobEnd end = gang_.early_exit.end_after_deadline(now);
    if (end.first_failure) {
      gang_.attempt.note_first_failure(*end.first_failure);
      end.rank_zero_had_ended = gang_.end_of(*end.first_failure).rank_zero_had_ended;
    }
    end_attempt(std::move(end), SIGTERM, now);
  }
  if (gang_.state == LeaderState::Running && now >= suspension_.deadline().value_or(Instant::max())) {
    end_suspended(suspension_.at_deadline(now), now, suspension_.kind());
  }
  if (gang_.state == LeaderState::Resting && now >= rest_until_) {
    rendezvous_.gather(now);
  }
}

bool AttemptEnd::can_continue_without(LinkId link, Instant now) const {
  std::vector<LinkId> others = admission_.spares_for(*gang_.roster.find(link)->seat);
  for (const LinkId seated : gang_.roster.in_order()) {
    if (seated != link && !gang_.roster.find(seated)->leaving_after) {
      others.push_back(seated);
    }
  }
  const bool is_between = gang_.state == LeaderState::Resting || gang_.state == LeaderState::Rendezvous;
  if (!is_between && !gang_.restart_decider.may_restart(now)) {  // between two attempts, the restart is counted already
    return false;
  }
  if (!gang_.config.job.total_slots) {
    return others.size() >= static_cast<std::size_t>(gang_.config.job.least_nodes);
  }
  int slots = 0;
  for (const LinkId other : others) {
    slots += gang_.roster.find(other)->join.node.slots;
  }
  return slots >= *gang_.config.job.total_slots;
}

void AttemptEnd::carry_out(const ExchangeOutcome& outcome, Instant now) {
  if (const auto* const delivery = std::get_if<Delivery>(&outcome)) {
    for (const Merged& chunk : delivery->chunks) {
      gang_.send(delivery->links, chunk);
    }
    return;
  }
  JobEnd end = GangState::end_of(std::get<Error>(outcome));
  if (gang_.state == LeaderState::Running) {
    gang_.end = gang_.recorded(end);
    end_attempt(std::move(end), SIGTERM, now);
  } else if (gang_.state == LeaderState::Rendezvous) {
    goodbye_.conclude(std::move(end), now);
  }
}

}  // namespace muster::gang
