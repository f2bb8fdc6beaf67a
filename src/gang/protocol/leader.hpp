#pragma once

// Decides for the job: which agents belong to it, when it starts and stops, how it ends. Pure: no socket, no clock,
// no process. docs/architecture.md has the table of its states.

#include "base/log.hpp"
#include "gang/gang_config.hpp"
#include "gang/protocol/current_attempt.hpp"
#include "gang/protocol/exchange.hpp"
#include "gang/protocol/fence.hpp"
#include "gang/protocol/restart_decider.hpp"
#include "gang/protocol/roster.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace muster::gang {

// Events.

/// An agent joins. `peer` and `local` are the numeric addresses of the two ends of its link.
struct Joined {
  LinkId link = kOwnLink;
  std::string peer;
  std::string local;
  Join join;
};
struct Received {
  LinkId link = kOwnLink;
  Message message;
};
/// The link is gone. `why` follows the agent's name: "closed the connection".
struct LinkLost {
  LinkId link = kOwnLink;
  std::string why;
};
/// A peer without the job's token connected, perhaps one of its nodes. `why` follows its address.
struct AuthFailed {
  std::string peer;
  std::string why;
};
/// The answer to ReservePort. With an error the job cannot start.
struct PortReserved {
  AttemptPorts offer;
  std::string error;
};
/// The answer to LookUpHosts: the names that do not resolve.
struct HostsLookedUp {
  std::set<std::string> unresolved;
};
/// The moment of `next_wake` has come.
struct Tick {};

using LeaderEvent = std::variant<Joined, Received, LinkLost, AuthFailed, PortReserved, HostsLookedUp, Tick>;

// Actions.

struct SendTo {
  std::vector<LinkId> links;
  Message message;
};
/// Close the link once everything is sent. Its loss is not reported any more.
struct Drop {
  LinkId link = kOwnLink;
};
/// Reserve ports for the workers of the next attempt, and release the earlier ones.
struct ReservePort {};
/// Resolve these names; HostsLookedUp answers.
struct LookUpHosts {
  std::vector<std::string> names;
};
/// All nodes know the end and have left.
struct GangClosed {};

using LeaderAction = std::variant<SendTo, Drop, ReservePort, LookUpHosts, LogLine, GangClosed>;
using LeaderActions = std::vector<LeaderAction>;

/// Decides for the whole job. A job of one node has a leader too, with its own agent as the only member.
///
///   Rendezvous ── all here ──▶ Running ── a failure, a stop, success ──▶ Stopping ── all ended ──┐
///       ▲  │                                                              │  another attempt    │
///       │  └─ deadline, stop ──▶ Finishing ◀──────────── the end ─────────┤                     │
///       │                            │ all gone                           │                     │
///       └────────── rest over ── Resting ◀────────────────────────────────┴─────────────────────┘
///                                 Finished
///
/// Parts: Roster has the agents of the job, RendezvousTimer the deadlines of the wait for nodes, CurrentAttempt and
/// EarlyExit the running attempt; RestartDecider decides whether another attempt follows, Fence when it may.
///
/// An agent without a seat (see Roster) is a *spare* if the job can restart, otherwise it is refused. If seats stay
/// empty (a job of MIN to MAX nodes), the node ranks of an attempt number the occupied seats.
class Leader {
 public:
  Leader(GangConfig config, Instant now);

  [[nodiscard]] LeaderActions on(const LeaderEvent& event, Instant now);

  /// Returns when `Tick` is due; empty: only events are awaited. A job of one node never ticks while it runs.
  [[nodiscard]] std::optional<Instant> next_wake() const;

  /// Names what the leader waits for at the end: "goodbye of node 4". Empty while no end is in progress.
  [[nodiscard]] std::vector<std::string> awaited() const;

  enum class State {
    Rendezvous,  ///< waits for nodes
    Running,     ///< an attempt runs
    Stopping,    ///< the attempt is being ended on every node
    Resting,     ///< no process of the attempt is left; the next one waits
    Finishing,   ///< all agents have been sent the end
    Finished
  };
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] int attempt() const { return attempt_.number(); }
  [[nodiscard]] const Roster& roster() const { return roster_; }
  /// Nodes of the attempt, by node rank.
  [[nodiscard]] const std::vector<LinkId>& nodes() const { return attempt_.nodes(); }
  [[nodiscard]] std::vector<ExchangeNode> exchange_nodes() const { return exchange_nodes(attempt_.nodes()); }

 private:
  void handle(const Joined& arrived, Instant now);
  void handle(const Received& received, Instant now);
  void handle(const LinkLost& lost, Instant now);
  void handle(const AuthFailed& stranger, Instant now);
  void handle(const PortReserved& reserved, Instant now);
  void handle(const HostsLookedUp& found, Instant now);
  void handle(const Tick& tick, Instant now);

  void take(LinkId link, const Heartbeat& beat, Instant now);
  void take(LinkId link, const InputStatus& preparing, Instant now);
  void take(LinkId link, const Contribute& contribute, Instant now);
  void take(LinkId link, const Failed& failed, Instant now);
  void take(LinkId link, const Succeeded& succeeded, Instant now);
  void take(LinkId link, const AttemptOver& ended, Instant now);
  void take(LinkId link, const StopFromAgent& asked, Instant now);
  void take(LinkId link, const SuspendRequested& asked, Instant now);
  void take(LinkId link, const WorkSaved& saved, Instant now);
  void take(LinkId link, const StatusQuery& asked, Instant now);
  void take(LinkId link, const StatusReport& report, Instant now);
  void take(LinkId link, const Announce& announce, Instant now);
  void take(LinkId link, const Hung& hung, Instant now);
  template <typename Other>
  void take(LinkId link, const Other& unexpected, Instant now);

  // These tell what a node may speak of.
  [[nodiscard]] bool is_of(LinkId link, GlobalRank rank);
  [[nodiscard]] bool is_watcher(LinkId link);
  [[nodiscard]] std::optional<Failure> own_failure(LinkId link, Failure failure);
  [[nodiscard]] OtherFailures own_failures(LinkId link, const OtherFailures& failures);
  void reject_naming_others(LinkId link, const std::string& whom);
  void end_unprepared(LinkId link, const InputStatus& preparing, Instant now);

  // Joining and seats.
  [[nodiscard]] std::string objection(const Join& join) const;
  [[nodiscard]] bool is_too_much(const Join& join) const;
  void place(LinkId link, Instant now);
  void take_seat(LinkId link, int seat);
  void keep_or_refuse(LinkId link, Instant now);
  /// Tells spares whether the job runs. If it has not started, they may look for another leader after a loss.
  void notify_spares(std::vector<LinkId> spares, bool does_job_run);
  void refuse(LinkId link, std::string reason, bool may_retry = false);
  void settle_claims(int seat);
  void place_claimants(int seat, Instant now);
  void seat_spares();
  void release(LinkId link, const std::string& why, Instant now);

  // Nodes that arrive while an attempt runs.
  [[nodiscard]] bool can_scale_up() const;
  [[nodiscard]] bool can_start_again() const;
  void note_newcomers(Instant now);
  [[nodiscard]] std::vector<LinkId> newcomers() const;
  void scale_up(Instant now);

  // Waiting for nodes.
  void gather(Instant now);
  [[nodiscard]] bool is_enough() const;
  [[nodiscard]] bool is_enough_ready() const;
  [[nodiscard]] bool awaits_nodes() const;
  void start_with_ready(const AttemptPorts& offer, Instant now);
  [[nodiscard]] std::vector<int> leave_out_unready(Instant now);
  void try_start(Instant now);
  [[nodiscard]] bool is_seat_in_doubt(Instant now);
  void start_attempt(const AttemptPorts& offer, Instant now);
  [[nodiscard]] std::string last_verdict() const;
  void send_starts(Start start);
  [[nodiscard]] bool is_pending() const;
  bool end_for_missing_nodes(Instant now);
  void check_deadlines(Instant now);
  void give_up_gathering(Instant now);
  void record_arrivals();
  [[nodiscard]] std::string workers_address(const std::vector<LinkId>& nodes) const;
  [[nodiscard]] std::string describe_nodes() const;
  [[nodiscard]] std::string describe_size() const;
  [[nodiscard]] std::string describe_waiting(const std::string& how) const;
  void resolve_hosts();
  void report_progress(Instant now);

  // Exchange of values.
  [[nodiscard]] bool holds_back(Instant now);
  void note_readiness(LinkId link);
  void follow_readiness(LinkId link, Instant now);
  void carry_out(const ExchangeOutcomes& outcomes, Instant now);
  void carry_out(const Delivery& delivery, Instant now);
  void carry_out(const Violation& violation, Instant now);
  void carry_out(const Error& why, Instant now);
  [[nodiscard]] std::vector<ExchangeNode> exchange_nodes(const std::vector<LinkId>& nodes) const;

  // End of an attempt.
  void end_attempt(JobEnd end, int signal, Instant now, std::string reason = {});
  void stop_nodes(int signal, Instant now);
  void lose(LinkId link, const std::string& why, Instant now);
  void after_an_end(Instant now);
  void name_first_failure();
  void rest(Instant now);
  [[nodiscard]] bool count_restart(Instant now);
  void log_next_step(bool waits_for_fence, Instant now);
  void conclude(JobEnd end, Instant now);
  void drop_all_links();
  void dissolve_if_alone();
  [[nodiscard]] bool can_continue_without(LinkId link, Instant now);
  void continue_without(LinkId link, int signal, Instant now);
  void hurry(const Member& asked, int signal, Instant now);
  [[nodiscard]] std::vector<LinkId> nodes_that_have_not_ended() const;
  [[nodiscard]] std::string describe_request(const Member& member, int signal) const;
  [[nodiscard]] static JobEnd end_by_request(const std::string& request, int signal);
  void give_up_stopping(Instant now);
  [[nodiscard]] std::chrono::milliseconds longest_stop();
  [[nodiscard]] JobEnd recorded(JobEnd end) const;
  [[nodiscard]] JobEnd end_of(const Failure& failure) const;

  // Suspension after a notice.
  void note_notice(const std::string& source, std::optional<std::chrono::milliseconds> within, Instant now);
  void withdraw_notice(Instant now);
  void end_suspended(const std::string& what, Instant now);
  void end_at_deadline(Instant now);
  void end_after_all_have_ended(Instant now);
  [[nodiscard]] static JobEnd suspended_end(const std::string& source, const std::string& what);
  [[nodiscard]] bool has_failed_instead() const;
  [[nodiscard]] std::optional<std::chrono::milliseconds> grace_after_notice(Instant now) const;

  // Ranks that exit early.
  void note_success(LinkId link, const Succeeded& succeeded, Instant now);
  void end_by_early_exit(Instant now);

  // Timers.
  void check_silence(Instant now);
  [[nodiscard]] std::chrono::milliseconds silence_check_interval() const;

  void send(LinkId link, Message message);
  void send(std::vector<LinkId> links, Message message);
  void say(Level level, std::string text);

  /// A suspend notice that was passed on to the workers.
  struct Notice {
    std::string source;
    Instant asked;
    Instant deadline;
  };
  /// A status query that waits for reports.
  struct Question {
    LinkId asker = kOwnLink;
    int number = 0;  ///< number in the asking agent's query
    std::set<LinkId> awaited;
    std::size_t bytes = 0;  ///< size of the reports so far
  };

  GangConfig config_;
  State state_ = State::Rendezvous;
  Roster roster_;
  ExchangeServer exchange_;
  RendezvousTimer rendezvous_timer_;
  CurrentAttempt attempt_;
  EarlyExit early_exit_;
  LastCall newcomers_call_;  ///< for more nodes, before a restart for the nodes that arrived
  RestartDecider restart_decider_;
  Fence fence_;
  std::optional<Notice> notice_;  ///< in this attempt
  bool has_departed_ = false;     ///< a process saved, or ended with 0, after the notice
  std::map<int, Question> questions_;
  int last_question_ = 0;
  std::optional<std::chrono::milliseconds> asked_grace_;  ///< in the request to end
  std::optional<JobEnd> end_;                             ///< set: no other attempt follows
  GangRecord record_;
  std::set<std::string> incarnations_;  ///< of all admitted agents
  int refusals_ = 0;
  bool waits_for_port_ = false;
  std::optional<Instant> start_due_;  ///< time since when only a claimed seat delays the start
  std::string pending_;               ///< why the seated nodes cannot start yet
  std::vector<LinkId> pending_for_;   ///< the nodes that `pending_` is about
  Instant next_silence_check_;
  Instant rest_until_;
  Instant stop_deadline_;  ///< nodes that have not ended by then are lost
  Instant goodbye_deadline_;
  LeaderActions actions_;
};

}  // namespace muster::gang
