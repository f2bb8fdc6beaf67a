// Fills in missing facts about nodes, chooses the ports and checks the leader's address; fails for facts that are
// required.
#include "platforms/defaults.hpp"

#include "base/endpoint.hpp"
#include "environment/local_host.hpp"
#include "platforms/slots.hpp"

#include <cstdint>
#include <limits>

namespace muster {
namespace {

Error missing(const std::optional<Sourced<std::string>>& known, std::string_view what, const std::string& flag) {
  const std::string because = known ? known->source.name + " is '" + known->value + "', but " : "";
  return Error{known ? error_kind(known->source) : ErrorKind::BadEnvironment,
               because + "nothing says " + std::string(what) + "; give " + flag};
}

std::optional<Sourced<std::string>> as_text(const std::optional<Sourced<int>>& number) {
  return number ? std::optional(as_text(*number)) : std::nullopt;
}

/// Checks count and rank against each other. Where a user or torchrun's variables describe the job, ranks may follow
/// arrival order; a platform that sets ranks on other nodes only is broken.
Result<> check_rank(const PlatformFacts& facts, const Platform* platform, const OptionNames& names) {
  const bool may_lack_rank = platform == nullptr || platform->may_lack_rank;
  if (!facts.node_rank && facts.no_rank) {
    return *facts.no_rank;
  }
  if (!facts.node_rank && !may_lack_rank) {
    return missing(nodes_as_written(facts), "which of the nodes this is", names.node_rank);
  }
  if (facts.node_rank && facts.node_rank->value >= facts.nodes->value) {
    return contradiction(*as_text(facts.node_rank), nodes_as_written(facts), "a rank must be below its count");
  }
  return {};
}

/// Fills in where the agents meet; a single node needs no source for it.
Result<> complete_leader(PlatformFacts& facts, const OptionNames& names) {
  const bool is_single = facts.nodes->value == 1;
  // A local port needs no name that other nodes know, nor one that must be resolved first.
  const bool is_local_port = is_single && !facts.master_port;
  if (is_single && (!facts.master_address || (is_local_port && !is_given(facts.master_address->source)))) {
    facts.master_address = {"127.0.0.1", {}};
  }
  if (!facts.master_address && facts.no_leader) {
    return *facts.no_leader;
  }
  if (!facts.master_address) {
    return missing(nodes_as_written(facts), "where the leader is", names.master_address);
  }
  if (!facts.master_port && !is_single) {
    facts.master_port = {kUsualPort, {}};
  }
  return {};
}

}  // namespace

std::string with_advice(const std::string& text, const PlatformFacts& facts, const OptionNames& names) {
  return facts.start_by.empty() ? text : text + "; start one on each by: " + facts.start_by + " " + names.command;
}

Result<> complete(PlatformFacts& facts, const JobRoles& roles, const Platform* platform, const OptionNames& names) {
  if (!facts.nodes && !facts.node_rank && platform == nullptr) {
    facts.nodes = {1, {}};
  }
  if (!facts.nodes) {
    // Error for an unknown number of nodes.
    if (!facts.node_rank && facts.no_rank) {
      return *facts.no_rank;
    }
    if (!facts.no_nodes) {
      return missing(as_text(facts.node_rank), "how many nodes the job has", names.nodes);
    }
    return Error{facts.no_nodes->kind, with_advice(facts.no_nodes->message, facts, names)};
  }
  const bool is_single = facts.nodes->value == 1;
  if (!facts.node_rank && is_single && !facts.no_rank) {
    facts.node_rank = {0, facts.nodes->source};
  }
  TRY(check_rank(facts, platform, names));
  TRY(complete_leader(facts, names));
  avoid_listeners(facts, roles);
  return {};
}

// Chooses three ports: the rendezvous, which the platform or the user names; the port on which the workers meet; and
// the port on which the agents meet, which is the rendezvous unless the workers use that.

namespace {

/// A port that is chosen at start.
const Sourced<std::string> kLatePort = {"{worker_port}", {SourceKind::Assumed, "a free port, at start"}};

void decide(Cluster& cluster, const char* field, const Port& port) {
  const Sourced<std::string> shown = port ? as_text(*port) : kLatePort;
  cluster.decisions.push_back({field, shown.value, shown.source.name});
}

/// The rendezvous, or a port next to the workers' port if that is the rendezvous.
Sourced<int> choose_gang_port(const Port& given, const Port& worker, const Sourced<int>& rendezvous) {
  if (given) {
    return *given;
  }
  if (!worker || worker->value != rendezvous.value) {
    return rendezvous;
  }
  const bool is_last = worker->value == std::numeric_limits<std::uint16_t>::max();
  return {worker->value + (is_last ? -1 : 1), worker->source};
}

std::optional<std::uint16_t> number_of(const Port& port) {
  return port ? std::optional(static_cast<std::uint16_t>(port->value)) : std::nullopt;
}

}  // namespace

int port_of_job(std::string_view id) {
  constexpr std::uint32_t kFirst = 61'440;
  constexpr std::uint32_t kCount = 4'096;
  std::uint32_t hash = 2'166'136'261;  // FNV-1a: the same in every build
  for (const char c : id) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619U;
  }
  return static_cast<int>(kFirst + hash % kCount);
}

Result<Ports> choose_ports(const PlatformFacts& facts, const ClusterRequest& request, const ModeFacts& mode) {
  const bool is_single = facts.nodes->value == 1;
  // The user's port; else the rendezvous, for programs that read it from the platform's variable.
  const Port& given = facts.master_port;
  const bool is_taken = mode.takes_given_port && given && given->source.kind != SourceKind::Default;
  const Port worker = request.worker_port || !is_taken ? request.worker_port : given;
  Ports ports;
  // On a single node the rendezvous has no other use than as the meeting point of its workers.
  ports.rendezvous = is_single && !facts.master_port ? worker : facts.master_port;
  ports.workers = is_single && !worker ? ports.rendezvous : worker;
  ports.is_worker_port_told = !is_single || request.worker_port.has_value();
  if (is_single) {
    return ports;
  }
  const Port& gang = request.gang_port;
  if (gang && ports.workers && gang->value == ports.workers->value) {
    return contradiction(*ports.workers, *gang, "workers and agents need a port each");
  }
  ports.agents = choose_gang_port(gang, ports.workers, *ports.rendezvous);
  return ports;
}

void add_ports(Cluster& cluster, const Ports& ports) {
  cluster.master_port = number_of(ports.rendezvous);
  cluster.worker_port = number_of(ports.workers);
  cluster.gang_port = number_of(ports.agents).value_or(0);
  if (ports.agents &&
      (ports.agents->source.kind == SourceKind::Flag || ports.agents->source.kind == SourceKind::Option)) {
    cluster.gang_port_option = ports.agents->source.name;
  }
  decide(cluster, "rendezvous.port", ports.rendezvous);
  if (ports.is_worker_port_told) {
    decide(cluster, "worker.port", ports.workers);
  }
  if (ports.agents) {
    decide(cluster, "gang.port", ports.agents);
  }
}

// Leader addresses that mean the local machine on every machine. Nothing is resolved: the gang sees a name's address
// when it resolves the name.

namespace {

/// True when the platform lists this node under exactly that name.
bool is_local_host(const PlatformFacts& facts, const std::string& name) {
  if (!facts.hosts || !facts.node_rank) {
    return false;
  }
  const auto rank = static_cast<std::size_t>(facts.node_rank->value);
  return rank < facts.hosts->value.size() && facts.hosts->value[rank] == name;
}

std::string only_on_one_machine(const PlatformFacts& facts) {
  const Sourced<std::string>& leader = *facts.master_address;
  return leader.source.name + " is '" + leader.value + "' in a job of " + (facts.are_nodes_of_total ? "up to " : "") +
         std::to_string(facts.nodes->value) +
         " nodes: a machine reaches only itself there, so all of them must be on this one";
}

}  // namespace

Result<std::string> check_leader_address(const PlatformFacts& facts) {
  const Sourced<std::string>& leader = *facts.master_address;
  const std::string& address = leader.value;
  // The leader may have this address, and needs no other name for itself.
  const bool is_leader = facts.node_rank && facts.node_rank->value == 0;
  const bool is_one_machine =
      facts.share && (facts.share->hosts == 1 || facts.share->local_size.value == facts.nodes->value);
  if (facts.nodes->value == 1 || is_local_host(facts, address) || is_one_machine) {
    return std::string();
  }
  if (is_given(leader.source)) {  // a user may try several agents on one machine
    return is_loopback(address) && !facts.hosts ? only_on_one_machine(facts) : std::string();
  }
  if (is_leader) {
    return std::string();
  }
  if (address == "0.0.0.0" || address == "::") {  // a server binds to these for all interfaces; no client can use them
    return wrong_value(leader, "an address at which the other nodes reach the leader");
  }
  if (is_loopback_name(address) && facts.node_rank) {
    return contradiction(leader, as_text(*facts.node_rank), "only the leader can reach itself by that name");
  }
  if (!is_loopback(address)) {
    return std::string();
  }
  return only_on_one_machine(facts);
}

}  // namespace muster
