// Measures how long a gang of thousands takes to start, fail and restart, and what its leader costs.
//
// A real muster leads. This one process plays all other agents: everything of an agent is real (its
// decisions, its link, TLS) but its workers, which do nothing, end at once when they are told to and
// succeed when it is time. Agents and leader share this machine, so their times are those of both.
//
//   usage: simulate_agents --muster FILE --agents N [--encrypted] [--by-arrival]
//                          [--arrive-within SECONDS] [--hold SECONDS] [--fail-on NODE]
//          simulate_agents --contribute BYTES [--all-parts] --agents N ...
//          simulate_agents --devices NUMBER --agents N ...
//
// With --contribute a leader of the simulation's own leads, and every node contributes so many bytes
// before each start, also none; all get a digest of them, or with --all-parts all of them. With --devices
// every node contributes so many devices, and all get the rank table that is made of them.
//
// All agents join; one of them hears a notice, which all are told of, and which is withdrawn; one asks where the ranks of all
// are, which are eight a node; they idle for a while; one of them fails; all start again and succeed. What was measured is printed as JSON.
#include "base/json.hpp"
#include "base/log.hpp"
#include "gang/gang.hpp"
#include "hang/verdict.hpp"
#include "leader_process.hpp"
#include "simulated_leader.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

namespace muster::scale {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kToken = "a token for the simulation of agents";
constexpr std::chrono::seconds kTimeout{120};
/// Between the start and the measuring of what follows, so that they do not mix.
constexpr std::chrono::milliseconds kSettle{500};
/// Likewise after the first start: the nodes are asked for their facts then.
constexpr std::chrono::milliseconds kSettleAfterJoin{2'000};

struct Options {
  std::string muster;
  int agents = 0;
  bool is_encrypted = false;
  bool is_by_arrival = false;  ///< the leader chooses the node ranks
  double arrive_within_seconds = 0;
  double hold_seconds = 1;
  int fail_on = 1;
  std::optional<Values> values;  ///< empty: muster leads
  int lead_at = 0;               ///< be the leader, at that port
};

std::shared_ptr<const gang::GangKey> key_of(const Options& options) {
  return options.is_encrypted ? std::make_shared<const gang::GangKey>(*gang::GangKey::derive(kToken)) : nullptr;
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Clock::duration to_duration(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// Runs until all agents have left.
class Simulation {
 public:
  Simulation(Options options, std::uint16_t port, const LeaderProcess& leader);

  void run();
  json::object& figures() { return figures_; }

 private:
  /// A node without workers.
  class SimulatedNode : public IdleNode {
   public:
    SimulatedNode(Simulation& simulation, int node) : simulation_(simulation), node_(node) {}

    void act(const gang::StartAttempt& wanted) override { simulation_.on_start(wanted.start, wanted.merged); }
    void act(const gang::StopAttempt& /*stop*/) override { simulation_.on_stop(node_); }
    void act(const gang::SuspendNotice& notice) override { simulation_.on_delivered(notice); }
    void act(const gang::StatusQuery& wanted) override { simulation_.answer(node_, wanted); }
    void act(const gang::StatusReport& status) override { simulation_.on_described(status); }
    void on_job_end(const JobEnd& end) override { simulation_.on_leave(end); }
    void on_gang_closed() override { ++simulation_.done_; }

   private:
    using IdleNode::act;

    Simulation& simulation_;
    int node_;
  };

  std::unique_ptr<gang::Gang> make_agent(int node);
  void arrive();
  Clock::time_point due_time(int agent) const;
  void on_start(const gang::Start& start, const gang::Exchanged& merged);
  void on_all_joined();
  void give_notice();
  void on_delivered(const gang::SuspendNotice& notice);
  void ask_where_ranks_are();
  void answer(int node, const gang::StatusQuery& wanted);
  void describe_ranks(int node, int question);
  void on_described(const gang::StatusReport& status);
  void begin_holding();
  void fail();
  void on_stop(int node);
  void on_all_restarted();
  void on_leave(const JobEnd& end);
  void after(Clock::duration time, void (Simulation::*then)());
  void note_per_agent(const char* name, double total) { figures_[name] = total / options_.agents; }
  bool is_all(int count) const { return count == options_.agents; }

  Options options_;
  std::uint16_t port_;
  const LeaderProcess& leader_;
  boost::asio::io_context io_;
  boost::asio::steady_timer timer_{io_};
  std::shared_ptr<const gang::GangKey> key_;
  std::deque<SimulatedNode> nodes_;
  std::vector<std::unique_ptr<gang::Gang>> agents_;  ///< by node rank, without the leader's 0
  json::object figures_;

  Clock::time_point first_arrival_;
  Clock::time_point last_arrival_;
  Clock::time_point noticed_;
  Clock::time_point asked_;
  std::vector<std::string> described_;
  Clock::time_point failed_;
  Clock::time_point succeeded_;
  Costs before_;  ///< of the phase that is being measured
  double bytes_ = 0;
  int arrived_ = 0;
  std::map<int, int> started_;  ///< agents, by attempt
  int notified_ = 0;
  int untold_ = 0;
  int stopped_ = 0;
  int left_ = 0;
  int done_ = 0;
};

Simulation::Simulation(Options options, std::uint16_t port, const LeaderProcess& leader)
    : options_(std::move(options)), port_(port), leader_(leader), before_(leader.costs()) {
  key_ = key_of(options_);
  for (int node = 1; node <= options_.agents; ++node) {
    agents_.push_back(make_agent(node));
  }
}

std::unique_ptr<gang::Gang> Simulation::make_agent(int node) {
  gang::GangSetup setup;
  setup.lead = gang::Lead::Never;
  setup.key = key_;
  setup.config = simulated_config(options_.agents, node, port_);
  if (options_.is_by_arrival) {
    setup.config.node.rank.reset();
  }
  if (options_.values) {
    setup.config.keys = exchange_keys(*options_.values);
  }
  auto agent = std::make_unique<gang::Gang>(io_, std::move(setup), nodes_.emplace_back(*this, node));
  const bool contributes = options_.values && options_.values->has_any();
  if (contributes && !agent->contribute(contribution_of(node, *options_.values))) {
    throw std::runtime_error("there is too much to contribute");
  }
  return agent;
}

void Simulation::run() {
  first_arrival_ = Clock::now();
  boost::asio::post(io_, [this] { arrive(); });
  const auto deadline = Clock::now() + kTimeout;
  while (!is_all(done_) && Clock::now() < deadline) {
    io_.run_one_until(deadline);
  }
  if (!is_all(done_)) {
    throw std::runtime_error("not everything happened within two minutes: " + std::to_string(started_[0]) +
                             " agents started, " + std::to_string(stopped_) + " stopped, " +
                             std::to_string(started_[1]) + " started again, " + std::to_string(left_) + " left");
  }
}

/// All that are due. Nothing else is done in between: they are here before any of them is served.
void Simulation::arrive() {
  while (!is_all(arrived_) && Clock::now() >= due_time(arrived_)) {
    agents_[static_cast<std::size_t>(arrived_++)]->start();
  }
  last_arrival_ = Clock::now();
  if (!is_all(arrived_)) {
    timer_.expires_at(due_time(arrived_));
    timer_.async_wait([this](const boost::system::error_code& /*error*/) { arrive(); });
  }
}

Clock::time_point Simulation::due_time(int agent) const {
  return first_arrival_ + to_duration(options_.arrive_within_seconds * agent / options_.agents);
}

void Simulation::on_start(const gang::Start& start, const gang::Exchanged& merged) {
  for (const auto& [key, bytes] : merged) {
    figures_["merged_bytes"] = bytes.size();
  }
  const bool is_last = is_all(++started_[start.placement.attempt]);
  if (is_last && start.placement.attempt == 0) {
    on_all_joined();
  } else if (is_last) {
    on_all_restarted();
  }
}

void Simulation::on_all_joined() {
  figures_["join_seconds"] = seconds_since(last_arrival_);
  figures_["arrival_seconds"] = std::chrono::duration<double>(last_arrival_ - first_arrival_).count();
  const Costs costs = leader_.costs();
  figures_["join_cpu_seconds"] = costs.cpu_seconds - before_.cpu_seconds;
  bytes_ = bytes_on_the_wire(port_);
  note_per_agent("join_bytes_per_agent", bytes_);
  after(kSettleAfterJoin, options_.values ? &Simulation::begin_holding : &Simulation::give_notice);
}

void Simulation::give_notice() {
  noticed_ = Clock::now();
  agents_[static_cast<std::size_t>(options_.fail_on - 1)]->notify(
      gang::SuspendRequested{"the simulation", std::nullopt});
}

void Simulation::on_delivered(const gang::SuspendNotice& notice) {
  if (!notice.is_withdrawn && is_all(++notified_)) {
    figures_["notice_seconds"] = seconds_since(noticed_);
    agents_.front()->notify(gang::SuspendRequested{"the simulation", {}, /*is_withdrawn=*/true});
  } else if (notice.is_withdrawn && is_all(++untold_)) {
    after(kSettle, &Simulation::ask_where_ranks_are);
  }
}

void Simulation::ask_where_ranks_are() {
  asked_ = Clock::now();
  agents_.front()->notify(gang::StatusQuery{1, "stacks"});
}

/// Eight ranks in a collective, but for one of one node.
/// A node with eight GPUs tells such facts (docs/preflight.md).
void Simulation::answer(int node, const gang::StatusQuery& wanted) {
  if (wanted.what != gang::kFactsQuestion) {
    describe_ranks(node, wanted.number);
    return;
  }
  std::string ports;
  std::string devices;
  for (int i = 0; i < 8; ++i) {
    const std::string separator = i == 0 ? "\"" : ",\"";
    ports += separator + "mlx5_" + std::to_string(i) + R"(":"400 Gb/s")";
    devices += separator + "0000:1" + std::to_string(i) + R"(:00.0":"x16 32.0 GT/s PCIe")";
  }
  agents_[static_cast<std::size_t>(node - 1)]->notify(gang::StatusReport{
      wanted.number, R"({"kernel":"5.15.0-1066","muster":"0.1.0","Python":"3.11","torch":"2.7.1","NCCL":"2.26.2",)"
                     R"("CUDA":"12.8.1","driver":"580.95.05","devices":"8 NVIDIA H100","CPUs":192,"memory":2.16e12,)"
                     R"("memory limit":1e18,"/dev/shm":1.08e12,"open files":1048576,"port":{)" +
                         ports + R"(},"device":{)" + devices + "}}"});
}

void Simulation::describe_ranks(int node, int question) {
  constexpr int kRanks = 8;
  hang::Evidence evidence;
  for (int i = 0; i < kRanks; ++i) {
    hang::RankEvidence& rank = evidence.ranks.emplace_back();
    rank.rank = node * kRanks + i;
    rank.host = "host-" + std::to_string(node);
    rank.pid = 1;
    rank.place.state = 'S';
    const bool is_other = i == 0 && node == options_.fail_on;
    rank.place.stack = {{"/opt/torch/distributed/distributed_c10d.py", is_other ? "send" : "all_reduce", 3'000}};
    for (int line = 1; line < 20; ++line) {
      rank.place.stack.push_back({"/home/me/train.py", "step_" + std::to_string(line), line});
    }
  }
  constexpr std::size_t kMostBytes = 100'000;
  agents_[static_cast<std::size_t>(node - 1)]->notify(gang::StatusReport{question, to_line(evidence, kMostBytes)});
}

void Simulation::on_described(const gang::StatusReport& status) {
  described_.push_back(status.text);
  if (status.missing > 0) {
    return;
  }
  const auto evidence = hang::join_lines(described_);
  const auto verdict = hang::judge(evidence.ranks);
  (void)hang::stacks_document(evidence.ranks);
  const bool is_complete = evidence.missing == 0;  // of some 5,000 agents the leader passes on what there is room for
  if (is_complete && verdict.ranks.size() != 1) {
    throw std::runtime_error(std::to_string(verdict.ranks.size()) + " ranks were named, not one");
  }
  figures_["stacks_seconds"] = seconds_since(asked_);
  after(kSettle, &Simulation::begin_holding);
}

void Simulation::begin_holding() {
  const Costs costs = leader_.costs();
  figures_["rss_kilobytes"] = costs.rss_kilobytes;
  figures_["pss_kilobytes"] = costs.pss_kilobytes;
  figures_["peak_rss_kilobytes"] = costs.peak_rss_kilobytes;
  constexpr double kKilo = 1024;
  note_per_agent("rss_bytes_per_agent", kKilo * static_cast<double>(costs.rss_kilobytes - before_.rss_kilobytes));
  note_per_agent("pss_bytes_per_agent", kKilo * static_cast<double>(costs.pss_kilobytes - before_.pss_kilobytes));
  before_ = costs;
  bytes_ = bytes_on_the_wire(port_);
  after(to_duration(options_.hold_seconds), &Simulation::fail);
}

void Simulation::fail() {
  constexpr double kMinute = 60;
  const Costs costs = leader_.costs();
  figures_["idle_cpu_seconds_per_minute"] = (costs.cpu_seconds - before_.cpu_seconds) * kMinute / options_.hold_seconds;
  const double bytes = bytes_on_the_wire(port_);
  note_per_agent("idle_bytes_per_agent_and_second", (bytes - bytes_) / options_.hold_seconds);
  before_ = costs;
  bytes_ = bytes;
  Failure failure;
  failure.node = NodeRank{options_.fail_on};
  failure.global_rank = GlobalRank{options_.fail_on};
  failure.host = "host-" + std::to_string(options_.fail_on);
  failure.status = ExitStatus::exited(1);
  failure.exit_code = 1;
  failure.last_lines = {"RuntimeError: this worker was told to fail"};
  failed_ = Clock::now();
  gang::Gang& agent = *agents_[static_cast<std::size_t>(options_.fail_on - 1)];
  agent.notify(failure);
  agent.notify(gang::AttemptOver{0, failure, std::nullopt});
}

/// Its workers end in no time.
void Simulation::on_stop(int node) {
  agents_[static_cast<std::size_t>(node - 1)]->notify(gang::AttemptOver{});
  if (is_all(++stopped_ + 1)) {  // the one that failed needs not be told
    figures_["stop_seconds"] = seconds_since(failed_);
  }
}

void Simulation::on_all_restarted() {
  figures_["restart_seconds"] = seconds_since(failed_);
  figures_["restart_cpu_seconds"] = leader_.costs().cpu_seconds - before_.cpu_seconds;
  note_per_agent("restart_bytes_per_agent", bytes_on_the_wire(port_) - bytes_);
  succeeded_ = Clock::now();
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    gang::Succeeded worker;
    worker.global_rank = GlobalRank{static_cast<int>(i) + 1};
    worker.role = "default";
    worker.pid = 1;
    worker.is_last = true;
    agents_[i]->notify(worker);
    agents_[i]->notify(gang::AttemptOver{});
  }
}

void Simulation::on_leave(const JobEnd& end) {
  if (end.exit_code != 0) {
    throw std::runtime_error("an agent left with " + std::to_string(end.exit_code) + ": " + end.reason);
  }
  if (is_all(++left_)) {
    figures_["finish_seconds"] = seconds_since(succeeded_);
  }
}

void Simulation::after(Clock::duration time, void (Simulation::*then)()) {
  timer_.expires_after(time);
  timer_.async_wait([this, then](const boost::system::error_code& /*error*/) { (this->*then)(); });
}

// --- The program --------------------------------------------------------------------------------

Options read_options(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--encrypted") {
      options.is_encrypted = true;
      continue;
    }
    if (words[i] == "--by-arrival") {
      options.is_by_arrival = true;
      continue;
    }
    if (words[i] == "--all-parts") {
      options.values.emplace(options.values.value_or(Values())).has_all_parts = true;
      continue;
    }
    const std::string& value = words.at(i + 1);
    if (words[i] == "--muster") {
      options.muster = value;
    } else if (words[i] == "--agents") {
      options.agents = std::stoi(value);
    } else if (words[i] == "--arrive-within") {
      options.arrive_within_seconds = std::stod(value);
    } else if (words[i] == "--hold") {
      options.hold_seconds = std::stod(value);
    } else if (words[i] == "--contribute") {
      options.values.emplace(options.values.value_or(Values())).bytes = std::stoi(value);
    } else if (words[i] == "--devices") {
      options.values.emplace(options.values.value_or(Values())).devices = std::stoi(value);
    } else if (words[i] == "--lead-at") {
      options.lead_at = std::stoi(value);
    } else if (words[i] == "--fail-on") {
      options.fail_on = std::stoi(value);
    } else {
      throw std::invalid_argument("unknown option '" + words[i] + "'");
    }
    ++i;
  }
  if ((options.muster.empty() && !options.values) || options.agents < 1 || options.hold_seconds <= 0 ||
      options.fail_on < 1 || options.fail_on > options.agents) {
    throw std::invalid_argument("--muster FILE and --agents N are needed, and --fail-on 1 to N");
  }
  return options;
}

/// A leader whose worker waits for its end in the first attempt and succeeds in the second one.
std::vector<std::string> leader_command(const Options& options, std::uint16_t port) {
  if (options.values) {
    return leader_command(options.agents, port, *options.values, options.is_encrypted);
  }
  return {options.muster,
          "--nnodes=" + std::to_string(options.agents + 1),
          "--node-rank=0",
          "--master-addr=127.0.0.1",
          "--master-port=" + std::to_string(port),
          "--nproc-per-node=1",
          "--max-restarts=1",
          "--",
          "/bin/sh",
          "-c",
          "test $TORCHELASTIC_RESTART_COUNT = 1 || exec sleep 3600"};
}

void raise_limit_of_descriptors() {
  rlimit limit{};
  (void)::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

int simulate(const Options& options) {
  raise_limit_of_descriptors();
  set_up_messages(Level::Warning, /*with_colour=*/false);
  if (options.is_encrypted) {
    (void)::setenv("MUSTER_TOKEN", kToken, 1);  // NOLINT(concurrency-mt-unsafe): one thread
  }
  if (options.lead_at != 0) {
    return lead(options.agents, static_cast<std::uint16_t>(options.lead_at), *options.values, key_of(options));
  }
  const std::uint16_t port = free_port();
  LeaderProcess leader(leader_command(options, port), port, !options.values);
  Simulation simulation(options, port, leader);
  simulation.run();
  const int code = leader.wait();
  json::object& figures = simulation.figures();
  figures["agents"] = options.agents;
  figures["is_encrypted"] = options.is_encrypted;
  figures["contributed_bytes"] = options.values ? options.values->bytes : 0;
  figures["own_cpu_seconds"] = own_cpu_seconds();
  figures["leader_exit_code"] = code;
  std::cout << pretty_json(figures);
  return code == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace muster::scale

int main(int argc, char** argv) {
  try {
    return muster::scale::simulate(muster::scale::read_options({argv + 1, argv + argc}));
  } catch (const std::exception& error) {
    std::cerr << "simulate_agents: " << error.what() << "\n";
    return EXIT_FAILURE;
  }
}
