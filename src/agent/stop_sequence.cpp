// Carries out the end of an attempt's workers; the supervisor decides when each step begins.
#include "agent/stop_sequence.hpp"

#include "agent/hang/rank_evidence.hpp"
#include "control/status.hpp"
#include "process/programs.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace muster {
namespace {

/// Time for a worker's helpers to exit by themselves; Python's resource tracker needs a few milliseconds.
constexpr std::chrono::milliseconds kOrphanDelay{500};
constexpr std::chrono::seconds kRankPollInterval{1};
/// Time for a look at the workers before SIGKILL.
constexpr std::chrono::milliseconds kLookTimeout{500};
/// Time for helpers, which get the stop signal last, to act on it.
constexpr std::chrono::milliseconds kLastMoment{100};
/// Time between looks, while a notice stands, for programs that begin to handle its signal.
constexpr std::chrono::seconds kNoticeInterval{1};
constexpr std::size_t kMostPlaceBytes = std::size_t{64} << 10U;

/// Descendants of this agent that belong to no attempt, and end by themselves.
std::set<pid_t> helpers_and_standbys(const AttemptInput& input) {
  std::set<pid_t> pids = input.standbys.pids();
  pids.insert(input.helpers.pids().begin(), input.helpers.pids().end());
  return pids;
}

}  // namespace

StopSequence::StopSequence(const AttemptInput& input, const LaunchPlan& plan, Workers& workers, AttemptLog& log)
    : input_(input),
      plan_(plan),
      workers_(workers),
      log_(log),
      sweeper_(::getpid()),
      grace_(*this, input.io, input.run.options.grace),
      place_task_(input.io, input.helpers),
      kill_loop_(*this, input.io, workers, sweeper_, [&input = input_] { return helpers_and_standbys(input); }),
      orphan_timer_(input.io, kOrphanDelay, [this] { check_orphans(); }),
      rank_timer_(input.io, kRankPollInterval, [this] { check_rank_orphans(); }),
      left_timer_(input.io),
      last_moment_(input.io, kLastMoment, [this] { on_event(GraceEnded{}); }),
      notice_timer_(input.io, kNoticeInterval, [this] { (void)tell_programs(); }) {}

void StopSequence::note_order(const std::string& reason, std::optional<std::chrono::milliseconds> most_grace) {
  if (most_grace) {
    grace_.shorten(*most_grace);
    is_urgent_ = true;
  }
  request_.is_ordered = true;
  request_.reason = reason;
}

bool StopSequence::send_notice(int signal) {
  has_asked_ = true;
  is_notice_ = true;
  asks_adopted_ = true;
  request_.signal = signal;
  const Workers::NoticePrograms told = tell_programs();
  log_.on_notice_not_sent(told.without, signal);
  return !told.handling.empty();
}

/// Sends a notice's signal. A worker whose programs do not handle it may have just begun: it is looked at again soon.
Workers::NoticePrograms StopSequence::tell_programs() {
  Workers::NoticePrograms found = workers_.programs_for_notice(request_.signal);
  sweeper_.note_sent(found.left, request_.signal);
  (void)sweeper_.send_stop_signal(found.handling, request_.signal);
  notice_timer_.ask();
  return found;
}

void StopSequence::forget_notice() {
  sweeper_.forget_sent();
  is_notice_ = false;
  asks_adopted_ = false;
  request_.signal = SIGTERM;
  notice_timer_.cancel();
}

void StopSequence::send_stop_signal(int signal) {
  has_asked_ = true;
  is_notice_ = false;
  notice_timer_.cancel();
  request_.signal = signal;
  request_.grace = grace_.length();
  const auto guards = sent_by_guard();
  ask(workers_.begin_stop(signal, guards ? std::optional(guards->at) : std::nullopt));
  workers_.go_on();  // a stopped worker could not handle the signal
  asks_adopted_ = !guards;
  ask_adopted();
  left_timer_.start(grace_.length() / 2, [this] { ask_left(); });
  log_.on_asked_to_end(request_);
}

/// Asks the programs directly that the handlers of their shells have not ended in time.
void StopSequence::ask_left() {
  for (const Process& program : left_) {
    signal_exactly(program, request_.signal);
  }
}

/// Sends the signal, but not to a program that reads what another one writes: it ends with that one. A notice goes
/// only to programs that handle it: what a worker left behind may be saving. A program below a shell's handler gets
/// half of the grace to end by that handler, because a second signal could end its save.
void StopSequence::ask(std::vector<std::vector<Process>> programs) {
  for (std::vector<Process>& one : programs) {
    Unasked unasked = take_unasked(one, request_.signal);
    sweeper_.note_sent(unasked.to_handlers, request_.signal);
    std::ranges::move(unasked.to_handlers, std::back_inserter(left_));
    readers_.merge(unasked.readers);
    std::erase_if(one, [this](const Process& program) {
      return readers_.contains(program.pid) || (is_notice_ && !survives(program.pid, request_.signal));
    });
    (void)sweeper_.send_stop_signal(one, request_.signal);
  }
}

/// Asks new orphans to end: when a shell or a runner ends by the signal, its program may not have got it. Descendants
/// of that program come to us only when it ends.
void StopSequence::ask_adopted() {
  if (!asks_adopted_ || !Reaper::has_children()) {
    return;
  }
  std::set<pid_t> known = workers_.living_pids();
  known.merge(excluded());
  if (const std::vector<Process> adopted = sweeper_.adopted(known); !adopted.empty()) {
    ask(programs_of(adopted));
  }
}

void StopSequence::stop_orphans(bool is_succeeding) {
  if (is_notice_) {
    forget_notice();
  }
  if (!Reaper::has_children()) {
    return;
  }
  if (is_succeeding) {
    orphan_timer_.ask();
  } else {
    asks_adopted_ = !sent_by_guard();
    ask_adopted();
  }
}

void StopSequence::end_asking() {
  grace_.cancel();
  left_timer_.cancel();
  place_task_.cancel();
  orphan_timer_.cancel();
  last_moment_.cancel();
  notice_timer_.cancel();
  asks_adopted_ = false;
}

void StopSequence::kill() {
  end_asking();
  has_asked_ = true;
  kill_loop_.start();
}

void StopSequence::cancel() {
  end_asking();
  kill_loop_.cancel();
  rank_timer_.cancel();
}

bool StopSequence::is_nothing_left() const {
  if (!Reaper::has_children()) {
    return true;
  }
  const std::set<pid_t> others = helpers_and_standbys(input_);
  return sweeper_.has_only_held(others) || (!input_.standbys.pids().empty() && sweeper_.has_only(others));
}

std::optional<StopSentByGuard> StopSequence::sent_by_guard() const {
  auto request = input_.page.stop_sent_by_guard();
  return request && request->at >= began_ ? request : std::nullopt;
}

bool StopSequence::is_answer(const Death& death, const StopSentByGuard& request) const {
  return workers_.started(death.worker) < request.at && !request.had_ended.contains(workers_.pid(death.worker));
}

/// Finds out where the workers stand that did not end, if there is time for it, and then kills them.
void StopSequence::on_grace_ended() {
  grace_.cancel();  // its progress is over, too
  if (orphan_timer_.is_pending()) {
    orphan_timer_.cancel();
    check_orphans();
  }
  (void)poll();
  control::NodeStatus late;
  for (std::size_t i = 0; i < plan_.workers.size() && !is_urgent_; ++i) {
    if (workers_.is_alive(i)) {
      control::WorkerStatus& worker = late.workers.emplace_back();
      worker.global_rank = static_cast<int>(i);  // unlike ranks, each is there once
      worker.pid = workers_.pid(i);
      worker.is_alive = true;
    }
  }
  if (late.workers.empty()) {
    give_up_on_workers({});
    return;
  }
  const EvidenceSources sources{.may = input_.run.options.hangs.asks, .most_time = kLookTimeout};
  place_task_.start({[=] { return hang::to_line(gather_evidence(late, sources), kMostPlaceBytes); }, kLookTimeout,
                     [this](const HelperTask::Answer& places) { give_up_on_workers(places); }});
}

void StopSequence::give_up_on_workers(const HelperTask::Answer& places) {
  (void)poll();
  request_.grace = grace_.length();
  std::map<std::size_t, std::string> known;
  auto found = hang::join_lines({places.value_or("")}).ranks;
  for (const hang::RankEvidence& one : found) {
    if (one.place.end.empty()) {
      known[static_cast<std::size_t>(one.rank)] = (one.place.stack.empty() ? "in " : "at ") + describe(one.place);
    }
  }
  keep(std::move(found));
  for (std::size_t i = 0; i < plan_.workers.size(); ++i) {
    if (workers_.is_alive(i)) {
      log_.on_overdue(i, request_, known[i]);
    }
  }
  const bool asks_helpers = !is_urgent_ && sweeper_.send_stop_signal(sweeper_.orphans(excluded()), request_.signal);
  asks_helpers ? last_moment_.ask() : on_event(GraceEnded{});
}

/// Keeps the places of late workers in the record of hangs. `found` has the workers' indices instead of ranks.
void StopSequence::keep(std::vector<hang::RankEvidence> found) {
  ProcessNames names;
  for (hang::RankEvidence& one : found) {
    const WorkerPlan& worker = plan_.workers[static_cast<std::size_t>(one.rank)];
    names.add(worker);
    one.rank = worker.global_rank.value;
  }
  if (!found.empty()) {
    input_.hang_record.keep(
        names.describe() + (found.size() == 1 ? " ignores " : " ignore ") + signal_name(request_.signal),
        {{"stacks", hang::stacks_document(found)}});
  }
}

void StopSequence::on_kill_round(const std::vector<Process>& found, bool is_too_late) {
  if (poll() && is_too_late) {
    give_up_waiting(found);
  }
}

void StopSequence::give_up_waiting(const std::vector<Process>& left) {
  log_.on_not_killed(left);
  on_event(GaveUpWaiting{});
}

void StopSequence::check_orphans() {
  if (!poll()) {
    return;
  }
  if (is_proc_ours()) {
    end_orphans(sweeper_.orphans(excluded()));
    asks_adopted_ = true;
  } else {
    give_up_waiting({});  // without /proc, processes can be neither signalled nor killed
  }
}

void StopSequence::end_orphans(std::vector<Process> left) {
  log_.on_orphans(left);
  std::erase_if(left, [](const Process& process) { return process.parent != ::getpid(); });
  ask(programs_of(left));
}

void StopSequence::on_started(std::size_t worker) {
  if (plan_.workers[worker].is_unranked) {
    rank_timer_.ask();
  }
}

/// Asks orphans of ranks to end, and sends SIGKILL to those that are left after a whole grace.
void StopSequence::check_rank_orphans() {
  bool is_starter_alive = false;
  for (std::size_t i = 0; i < plan_.workers.size(); ++i) {
    is_starter_alive = is_starter_alive || (plan_.workers[i].is_unranked && workers_.is_alive(i));
  }
  if (!is_starter_alive) {
    return;
  }
  rank_timer_.ask();
  const auto now = std::chrono::steady_clock::now();
  const std::vector<Process> left = left_by_local_ranks();
  if (left.empty() || !orphans_seen_) {  // a rank may be starting: only the next poll ends the orphans
    orphans_seen_ = left.empty() ? std::nullopt : std::optional(now);
    return;
  }
  end_orphans(left);
  if (now - *orphans_seen_ >= kRankPollInterval + input_.run.options.grace) {
    for (const Process& process : left) {
      signal_exactly(process, SIGKILL);
    }
  }
}

/// Descendants of this agent that do not belong to workers.
std::set<pid_t> StopSequence::excluded() const {
  std::set<pid_t> pids = helpers_and_standbys(input_);
  pids.insert(input_.sidecars.pids().begin(), input_.sidecars.pids().end());
  return pids;
}

}  // namespace muster
