// Three ports: the rendezvous, which the platform or the user names; the one where the workers meet;
// and the one where the agents meet, which is the rendezvous unless the workers have that.
#include "platforms/ports.hpp"

#include <cstdint>
#include <limits>

namespace muster {
namespace {

/// A port that is not known before the start.
const Sourced<std::string> kLatePort = {"{worker_port}",
                                        {SourceKind::Assumed, "a free port, at start"}};

void decide(Cluster& cluster, const char* field, const Port& port) {
  const Sourced<std::string> shown =
      port ? Sourced<std::string>{std::to_string(port->value), port->source} : kLatePort;
  cluster.decisions.push_back({field, shown.value, shown.source.name});
}

/// As the user says; else the rendezvous, for programs that read it where the platform says it.
Port choose_worker_port(const PlatformFacts& facts,
                        const ClusterRequest& request,
                        const ModeFacts& mode) {
  const Port& given = facts.master_port;
  const bool is_taken = mode.takes_given_port && given && given->source.kind != SourceKind::Default;
  return request.worker_port || !is_taken ? request.worker_port : given;
}

/// Beside the workers' port if that is where the agents would meet.
Sourced<int> choose_gang_port(const Port& given,
                              const Port& worker,
                              const Sourced<int>& rendezvous) {
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

Result<Ports> choose_ports(const PlatformFacts& facts,
                           const ClusterRequest& request,
                           const ModeFacts& mode) {
  const bool is_single = facts.nodes->value == 1;
  const Port worker = choose_worker_port(facts, request, mode);
  Ports ports;
  // One node has no other use for a rendezvous: it is where its workers meet.
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
  decide(cluster, "rendezvous.port", ports.rendezvous);
  if (ports.is_worker_port_told) {
    decide(cluster, "worker.port", ports.workers);
  }
  if (ports.agents) {
    decide(cluster, "gang.port", ports.agents);
  }
}

}  // namespace muster
