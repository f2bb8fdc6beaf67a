#pragma once

// The world of the simulation: a clock, a network, hosts with agents and workers, and a judge who
// looks on. Each of them has its file.

#include "gang/protocol/simulation/simulation.hpp"
#include "gang/protocol/words.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>

namespace muster::gang::simulation {

constexpr Instant kBegin{std::chrono::hours(1'000)};
/// A job that is not over by then hangs: every wait in a scenario is a minute or two.
constexpr seconds kBound{2 * 3'600};
/// Under it every second host contributes a port.
constexpr const char* kPortsKey = "ports";
/// Under it nodes contribute while they run.
constexpr const char* kFenceKey = "fence";
constexpr std::uint64_t kMostEvents = 20'000'000;
constexpr std::size_t kLogLines = 80;
constexpr seconds kDialLimit{10};
/// The guard of a killed agent ends its workers so fast.
constexpr milliseconds kGuard{500};
/// From KILL until the last process is gone.
constexpr milliseconds kKilling{50};

enum class Direction {
  ToLeader,
  ToAgent
};

struct Closed {};
using Packet = std::variant<Message, Closed>;

/// One link. Bytes keep their order on it, and are kept while the network is cut.
struct Connection {
  int host = 0;
  int agent_life = 0;
  int leader_life = 0;
  bool is_open_at_agent = true;
  bool is_open_at_leader = true;
  bool has_joined = false;
  std::deque<Packet> held[2];
  Instant last[2];
};

/// The workers of one node in one attempt.
struct Group {
  int host = 0;
  int life = 0;        ///< of the agent that started it
  int generation = 0;  ///< of the leader
  Start start;
  Exchanged merged;
  bool is_alive = true;
  bool is_ending = false;
  bool has_worked = false;  ///< all that is left to do are the fences
  bool has_succeeded = false;
  bool cannot_be_killed = false;
  Instant ends_at;
  int signals = 0;
  std::optional<Failure> failure;
  std::map<std::vector<NodeRank>, int> rounds_left;  ///< of fences, by who is listed
  std::vector<ValueId> awaited;                      ///< contributed to, and no result yet
};

struct Host {
  bool has_power = true;
  bool is_cut_from = false;
  bool is_cut_to = false;
  bool has_slept = false;  ///< once is enough: two in a row are a longer one
  Instant asleep_until;
  int life = 0;   ///< counts its agents
  int joins = 0;  ///< and their links
  bool is_running = false;
  std::unique_ptr<Participant> agent;  // neither of them moves
  std::unique_ptr<Leader> leader;
  bool has_left = false;
  bool is_dissolved = false;
  LinkId link = kOwnLink;
  std::optional<Instant> agent_wake;
  std::optional<Instant> leader_wake;
  std::optional<std::size_t> group;
  bool is_ready = true;
  std::size_t port_changes = 0;

  // For the judge.
  bool is_running_normally = true;
  std::optional<int> gang;    ///< the generation of the leader that admitted it
  std::optional<JobEnd> end;  ///< what its agent reported
};

class World {
 public:
  World(const Scenario& scenario, bool keeps_log);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Finding run();

 private:
  struct Timed {
    Instant at;
    std::uint64_t order = 0;
    std::function<void()> what;
    bool operator<(const Timed& other) const { return std::tie(other.at, other.order) < std::tie(at, order); }
  };

  // Time and chance.
  void at(Instant moment, std::function<void()> what);
  std::int64_t pick(std::int64_t least, std::int64_t most);
  milliseconds up_to(milliseconds most) { return milliseconds(pick(0, most.count())); }
  bool chance(double likely) { return std::uniform_real_distribution<double>()(random_) < likely; }
  std::chrono::microseconds latency();
  template <typename... Pieces>
  void log(const Pieces&... chunks) {
    if (!keeps_log_) {
      return;
    }
    std::string line = std::to_string(std::chrono::duration<double>(now_ - kBegin).count()) + "  ";
    ((line += chunks), ...);
    log_.push_back(std::move(line));
    if (log_.size() > kLogLines) {
      log_.pop_front();
    }
  }
  void violate(const std::string& what);
  static std::string name(std::size_t host) { return "host " + std::to_string(host); }

  // Agents.
  void start_agent(std::size_t index);
  GangConfig job_policy() const;
  std::string wait_for_inputs(std::size_t index);
  void end_process(std::size_t index);
  static void forget_process(Host& host);
  void tell_agent(std::size_t index, int life, const ParticipantEvent& event);
  void tell_leader(int life, const LeaderEvent& event);
  void note_failure(const LeaderEvent& event);
  void carry_out(std::size_t index, const ParticipantActions& actions);
  void act(std::size_t index, const Dial& /*wanted*/);
  void connect(std::size_t index, int life);
  void act(std::size_t index, const SendToLeader& wanted);
  void act(std::size_t index, const CloseLink& /*wanted*/);
  void act(std::size_t index, const StartAttempt& wanted) { start_group(index, wanted.start, wanted.merged); }
  void act(std::size_t index, const Value& value);
  void act(std::size_t index, const StopAttempt& wanted);
  void act(std::size_t index, const PassSignal& /*wanted*/);
  void act(std::size_t index, const KillAttempt& /*wanted*/);
  // Workers that hear of a notice go on: nobody asks for one here, nor for the state of the job.
  void act(std::size_t /*index*/, const SuspendNotice& /*notice*/) {}
  void act(std::size_t /*index*/, const Hung& /*hung*/) {}
  void act(std::size_t /*index*/, const StallBegun& /*stall*/) {}
  void act(std::size_t /*index*/, const StatusQuery& /*wanted*/) {}
  void act(std::size_t /*index*/, const StatusReport& /*wanted*/) {}
  void act(std::size_t index, const LogLine& wanted) { log(name(index), " says: ", wanted.text); }
  void act(std::size_t index, const Leave& wanted);

  // The leader.
  void check_starts(const LeaderActions& actions);
  void carry_out(const LeaderActions& actions);
  void act(const SendTo& wanted);
  void act(const Drop& wanted);
  void act(const ReservePort& /*wanted*/);
  void act(const LookUpHosts& /*wanted*/);
  void act(const LogLine& wanted) { log("leader says: ", wanted.text); }
  void act(const KeepBadNode& /*wanted*/) {}
  void act(const GangClosed& /*wanted*/);
  void receive(std::size_t index, int life, const Message& message);

  // The network.
  bool is_cut(const Connection& connection, Direction direction) const;
  void send(LinkId link, Direction direction, Packet packet);
  void pass(LinkId link, Direction direction, Packet packet);
  void flush(std::size_t index);
  void deliver(LinkId link, Direction direction, const Packet& packet);
  void deliver_to_leader(LinkId link, const Packet& packet);
  void close(LinkId link, Direction direction);

  // Workers.
  void start_group(std::size_t index, const Start& start, const Exchanged& merged);
  std::string port_of(std::size_t index) const;
  void may_change_port(std::size_t index, int life);
  void check_ports(std::size_t index, const Start& start, const Exchanged& merged);
  void fail(std::size_t id);
  void succeed(std::size_t id, bool is_last);
  void stop_group(std::size_t id, milliseconds grace);
  void end_group(std::size_t id);
  void report_end(std::size_t id);

  // Fences.
  void plan_fences(int attempt, int nodes);
  std::string part_of(const Group& group, NodeRank node, const ValueId& id) const;
  void start_fences(std::size_t id);
  void contribute_soon(std::size_t id, const ValueId& round);
  void check_parts(const Group& group, const Value& value);

  // Faults.
  void strike(const Fault& fault);
  void crash(std::size_t index);
  void come_back(const Fault& fault);
  void mend(std::size_t index);

  // The judge.
  std::string describe_the_living() const;
  void judge();
  void compare(std::size_t index, const std::optional<JobEnd>& end, const JobEnd& expected);
  void check_success(const JobEnd& end);
  void check_failure(const JobEnd& end);

  const Scenario& scenario_;
  bool keeps_log_;
  std::mt19937_64 random_;
  Instant now_ = kBegin;
  std::uint64_t order_ = 0;
  std::vector<Timed> queue_;
  std::vector<Host> hosts_;
  std::deque<Connection> connections_;  ///< by LinkId
  std::map<LinkId, int> slots_;         ///< of those who joined
  std::deque<Group> groups_;
  std::set<std::size_t> alive_;                                   ///< groups, in the order of their start
  int generation_ = 0;                                            ///< counts the leaders
  std::map<std::pair<int, int>, std::vector<Failure>> failures_;  ///< by generation and attempt
  milliseconds attempt_ends_{0};
  /// By generation and attempt: how many rounds, by who is listed.
  std::map<std::pair<int, int>, std::map<std::vector<NodeRank>, int>> fences_;
  std::deque<std::string> log_;
  Finding finding_;
};

}  // namespace muster::gang::simulation
