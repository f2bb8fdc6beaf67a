// Who leads, where the gang meets, and what secret its links have.
#include "gang_setup.hpp"

#include <muster/base/endpoint.hpp>
#include <muster/logs/messages.hpp>
#include <muster/options/settings.hpp>

#include <random>

namespace muster {
namespace {

std::uint64_t random_number() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32U) | device();
}

gang::Lead who_leads(const Cluster& cluster) {
  if (!cluster.node.rank) {
    return gang::Lead::IfItsOurs;
  }
  return cluster.node.rank->value == 0 ? gang::Lead::Always : gang::Lead::Never;
}

/// The token that the user gives, else the secret that the platform has shared already.
Result<std::shared_ptr<const gang::GangKey>> make_key(const gang::GangOptions& options,
                                                      const Cluster& cluster) {
  std::string token = options.token;
  std::string source = "MUSTER_TOKEN";
  const bool is_platforms = options.token_file.empty() && token.empty();
  const std::string& path = is_platforms ? cluster.secret_file : options.token_file;
  if (!path.empty()) {
    source = "the token in '" + path + "'";
    auto file = gang::read_token_file(path);
    if (!file) {
      return file.error();
    }
    if (!file->warning.empty() && !is_platforms) {
      say_warning(file->warning);
    }
    token = std::move(file->token);
  } else if (token.empty()) {
    return std::shared_ptr<const gang::GangKey>();
  }
  auto key = gang::GangKey::derive(token);
  if (!key) {
    return Error{key.error().kind, source + ": " + key.error().message};
  }
  return std::make_shared<const gang::GangKey>(std::move(*key));
}

/// What all agents must start: the mode, and how many processes each role has where that was given,
/// such as "ps chief=1,worker=2".
std::string describe_mode(const LaunchPlan& plan, const Cluster& cluster) {
  return plan.mode + (cluster.job.roles.empty() ? "" : " " + to_text(cluster.job.roles));
}

}  // namespace

Result<gang::GangSetup> make_gang_setup(const Cluster& cluster,
                                        const LaunchPlan& plan,
                                        const gang::GangOptions& gang_options,
                                        const RunOptions& options) {
  gang::GangSetup setup;
  setup.lead = who_leads(cluster);
  setup.host = cluster.master_address;
  setup.port = cluster.gang_port;
  if (cluster.job.most_nodes > 1) {
    auto key = make_key(gang_options, cluster);
    if (!key) {
      return key.error();
    }
    setup.key = std::move(*key);
  }

  setup.policy.least_nodes = cluster.job.least_nodes;
  setup.policy.most_nodes = cluster.job.most_nodes;
  setup.policy.grace = options.grace;
  setup.policy.hosts = cluster.hosts;
  setup.policy.options = gang_options;
  setup.policy.options.token.clear();  // it is in the key
  setup.policy.total_slots = cluster.job.total_slots;

  gang::Join& join = setup.participant.join;
  join.version = MUSTER_VERSION;
  join.job_id = cluster.job.job_id;
  join.node_rank = cluster.node.rank;
  join.least_nodes = cluster.job.least_nodes;
  join.most_nodes = cluster.job.most_nodes;
  join.total_slots = cluster.job.total_slots.value_or(0);
  join.mode = describe_mode(plan, cluster);
  join.slots = cluster.node.slots;
  join.host = options.host_name;
  join.grace_seconds = std::chrono::duration<double>(options.grace).count();
  // As they come over a link: what is too long or no text is changed there, and compared.
  setup.policy.job_id = gang::as_sent(cluster.job.job_id);
  setup.policy.mode = gang::as_sent(join.mode);
  setup.participant.seed = random_number();
  setup.participant.leader =
      join_endpoint(cluster.master_address, std::to_string(cluster.gang_port));
  setup.participant.timeout = gang_options.timeout;
  setup.participant.heartbeat_timeout = gang_options.heartbeat_timeout;
  return setup;
}

gang::GangSetup make_lone_setup(const RunOptions& options) {
  gang::GangSetup setup;
  setup.policy.grace = options.grace;
  setup.participant.join.host = options.host_name;
  setup.participant.join.node_rank = NodeRank{0};
  return setup;
}

Placement to_placement(const gang::Start& start, const Cluster& cluster, int slots) {
  Placement placement;
  placement.attempt = start.attempt;
  placement.max_restarts = cluster.max_restarts;
  placement.nodes = start.nodes;
  placement.node_rank = start.node_rank;
  placement.slots_here = slots;
  placement.slots_before = start.slots_before;
  placement.slots_total = start.slots_total;
  placement.master_address =
      start.master_address.empty() ? cluster.master_address : start.master_address;
  placement.worker_port = cluster.worker_port;
  if (start.worker_port != 0) {
    placement.worker_port = start.worker_port;  // the leader's word: the same on all nodes
  }
  placement.is_decided = true;
  placement.ports = start.ports;
  for (NodePorts& node : placement.ports) {
    if (node.host.empty()) {  // the only node
      node.host = placement.master_address;
    }
  }
  return placement;
}

}  // namespace muster
