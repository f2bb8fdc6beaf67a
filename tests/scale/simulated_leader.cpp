// Values of random bytes, rank tables, and a leader that has nothing else to do.
#include "simulated_leader.hpp"

#include "../unit/gang/all_parts.hpp"
#include "exchange/exchanged_rank_table.hpp"
#include "rank_table/generate.hpp"

#include <boost/asio/io_context.hpp>

#include <numeric>
#include <random>
#include <utility>

namespace muster::scale {
namespace {

constexpr std::size_t kMostOfNode = std::size_t{1} << 20U;
constexpr std::size_t kMostMerged = std::size_t{16} << 20U;

/// Looks at every byte, and makes a few of them all.
Result<std::string> digest(const std::vector<gang::NodePart>& parts) {
  std::size_t sum = 0;
  for (const gang::NodePart& part : parts) {
    sum = sum * 31 + std::hash<std::string_view>{}(part.bytes);
  }
  return std::to_string(sum);
}

/// As a node with that many devices has it in its hccn.conf.
std::string devices_of(int node, int count) {
  std::vector<int> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), 0);
  rank_table::Addresses addresses;
  constexpr int kByte = 250;
  for (const int id : ids) {
    addresses[id] =
        "10." + std::to_string(node / kByte) + "." + std::to_string(node % kByte) + "." + std::to_string(id);
  }
  const std::string host = "host-" + std::to_string(node);
  return muster::contribution_of<RankTableValue>(
             {std::nullopt, LocalServer{rank_table::make_server(host, ids, addresses), host}})
      .bytes;
}

}  // namespace

gang::ExchangeKeys exchange_keys(const Values& values) {
  if (values.devices > 0) {
    return {key_of<RankTableValue>()};
  }
  return {{"values", gang::Phase::BeforeStart, kMostOfNode, kMostMerged,
           values.has_all_parts ? gang::Merge(gang::all_parts) : gang::Merge(digest)}};
}

gang::Contributed contribution_of(int node, const Values& values) {
  if (values.devices > 0) {
    return {RankTableValue::kName, devices_of(node, values.devices), {}};
  }
  std::mt19937 random(static_cast<std::mt19937::result_type>(node));
  std::string bytes(static_cast<std::size_t>(values.bytes), '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(random());
  }
  return {"values", std::move(bytes), {}};
}

gang::GangConfig simulated_config(int agents, int node, std::uint16_t port) {
  gang::GangConfig config;
  config.seed = static_cast<std::uint64_t>(node) << 32U;
  config.host = "127.0.0.1";
  config.port = port;
  config.version = "simulated";
  config.job.least_nodes = config.job.most_nodes = agents + 1;
  config.job.mode = "torchrun";
  config.node.rank = NodeRank{node};
  config.node.host = "host-" + std::to_string(node);
  return config;
}

std::vector<std::string> leader_command(int agents, std::uint16_t port, const Values& values, bool is_encrypted) {
  std::vector<std::string> command = {"/proc/self/exe",
                                      "--lead-at",
                                      std::to_string(port),
                                      "--agents",
                                      std::to_string(agents),
                                      "--contribute",
                                      std::to_string(values.bytes),
                                      "--devices",
                                      std::to_string(values.devices)};
  if (values.has_all_parts) {
    command.emplace_back("--all-parts");
  }
  if (is_encrypted) {
    command.emplace_back("--encrypted");
  }
  return command;
}

namespace {

/// The leader's own node, whose only worker succeeds at once in the second attempt.
class LeadingNode : public IdleNode {
 public:
  explicit LeadingNode(boost::asio::io_context& io) : io_(io) {}

  gang::Gang* gang = nullptr;
  int code = 0;  ///< of the job

  void act(const gang::StartAttempt& wanted) override {
    if (wanted.start.placement.attempt == 1) {
      gang::Succeeded worker;
      worker.pid = 1;
      worker.is_last = true;
      gang->notify(worker);
      gang->notify(gang::AttemptOver{});
    }
  }
  void act(const gang::StopAttempt& /*stop*/) override { gang->notify(gang::AttemptOver{}); }
  void on_job_end(const JobEnd& end) override { code = end.exit_code; }
  void on_gang_closed() override { io_.stop(); }

 private:
  using IdleNode::act;

  boost::asio::io_context& io_;
};

}  // namespace

int lead(int agents, std::uint16_t port, const Values& values, std::shared_ptr<const gang::GangKey> key) {
  boost::asio::io_context io{1};
  gang::GangSetup setup;
  setup.lead = gang::Lead::Always;
  setup.key = std::move(key);
  setup.config = simulated_config(agents, 0, port);
  setup.config.options.restarts.max_restarts = 1;
  setup.config.keys = exchange_keys(values);
  LeadingNode node(io);
  gang::Gang gang(io, std::move(setup), node);
  node.gang = &gang;
  if (values.has_any() && !gang.contribute(contribution_of(0, values))) {
    return 1;
  }
  gang.start();
  io.run();
  return node.code;
}

}  // namespace muster::scale
