#pragma once

// Ends the workers of an attempt and what they leave: stop signal, grace, rounds of SIGKILL. Private to src/agent.

#include "agent/attempt_log.hpp"
#include "agent/attempt_parts.hpp"
#include "agent/stop_timers.hpp"
#include "agent/workers.hpp"
#include "hang/evidence.hpp"
#include "plan/launch_plan.hpp"
#include "process/descendants.hpp"
#include "supervise/supervisor.hpp"

#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace muster {

/// Executes the supervisor's actions from the stop signal to SIGKILL, and knows what has asked the workers to end.
///
/// Orphans end with the node's last worker, but those of mpirun's ranks with the ranks: mpirun waits until every
/// process that has a rank's output open has closed it, even after the last rank: for ever, if a rank started a server.
class StopSequence : private StopTimersOwner {
 public:
  /// The references outlive it.
  StopSequence(const AttemptInput& input, const LaunchPlan& plan, Workers& workers, AttemptLog& log);

  /// Reaps workers that have ended and processes their ends. False: the attempt is over.
  std::function<bool()> poll;
  /// The grace has ended, or a process cannot be killed.
  std::function<void(const Event& event)> on_event;

  /// The gang orders the end; `most_grace` limits the grace, even if it has begun.
  void note_order(const std::string& reason, std::optional<std::chrono::milliseconds> most_grace);
  /// Notes the reason of the end that follows, unless a worker is the reason.
  void note_reason(const std::string& reason) { request_.reason = reason; }
  bool is_ordered() const { return request_.is_ordered; }
  /// True if we have signalled workers, which may have ended because of it.
  bool has_asked() const { return has_asked_; }

  /// Sends the signal of a notice once to each program of a worker that survives it, and while the notice stands to
  /// those that handle it later. Logs the workers that have no such program. True: a program got it.
  bool send_notice(int signal);
  /// The notice is withdrawn: a later one is sent again.
  void forget_notice();

  /// Sends the signal to each worker's programs, and from now on to what ended workers have left behind.
  void send_stop_signal(int signal);
  /// Asks processes to end that have become our children since the last call, because ended workers left them.
  void ask_adopted();
  /// All workers have ended. After a success, their orphans get some time to exit by themselves.
  void stop_orphans(bool is_succeeding);
  void start_grace() { grace_.start(); }
  void tell_grace(const TellGrace& request) { log_.on_late_request(request, grace_.left()); }
  /// Sends SIGKILL to every process until none is left.
  void kill();
  void cancel();
  bool is_nothing_left() const;

  /// The guard's stop request, made while we were stopped. One older than this attempt did not reach its workers.
  std::optional<StopSentByGuard> sent_by_guard() const;
  bool is_answer(const Death& death, const StopSentByGuard& request) const;
  /// True at the first call: by the first worker that ends so, we hear of the guard's request.
  bool is_first_answer() { return !std::exchange(has_heard_guard_, true); }

  /// Polls for orphans of ranks while a worker runs that starts ranks: no event tells of such orphans.
  void on_started(std::size_t worker);

 private:
  void on_grace_ended() override;
  void on_grace_progress() override { log_.on_still_waiting(grace_.left()); }
  void ask(std::vector<std::vector<Process>> programs);
  void ask_left();
  void end_asking();
  void give_up_on_workers(const HelperTask::Answer& places);
  void keep(std::vector<hang::RankEvidence> found);
  Workers::NoticePrograms tell_programs();
  void on_kill_round(const std::vector<Process>& found, bool is_too_late) override;
  void check_orphans();
  void check_rank_orphans();
  void end_orphans(std::vector<Process> left);
  void give_up_waiting(const std::vector<Process>& left);
  std::set<pid_t> excluded() const;

  AttemptInput input_;
  const LaunchPlan& plan_;
  Workers& workers_;
  AttemptLog& log_;
  Sweeper sweeper_;
  Grace grace_;
  HelperTask place_task_;  ///< finds out where the workers stand that did not end
  KillLoop kill_loop_;
  DelayedCall orphan_timer_;
  DelayedCall rank_timer_;
  Timer left_timer_;
  DelayedCall last_moment_;  ///< between the signal for helpers and SIGKILL
  DelayedCall notice_timer_;
  std::optional<std::chrono::steady_clock::time_point> orphans_seen_;  ///< when orphans of ranks were first seen
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  bool has_heard_guard_ = false;
  bool has_asked_ = false;
  bool asks_adopted_ = false;
  bool is_notice_ = false;     ///< a notice has asked, and nothing else yet
  std::vector<Process> left_;  ///< programs that their shells' handlers have to end
  std::set<pid_t> readers_;    ///< read what other programs write: not asked to end before the grace is over
  bool is_urgent_ = false;     ///< something else limits the grace
  EndRequest request_{.signal = SIGTERM, .is_ordered = false, .reason = {}, .grace = {}};
};

}  // namespace muster
