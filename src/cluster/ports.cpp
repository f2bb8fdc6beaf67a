// Three ports: the rendezvous, which the platform or the user names; the one where the workers meet;
// and the one where the agents meet, which is the rendezvous unless the workers were given that.
#include "ports.hpp"

#include <limits>

namespace muster {
namespace {

/// A port that is not known before the start.
constexpr const char* kLatePort = "{worker_port}";
constexpr const char* kLateSource = "a free port, at start";

using Port = std::optional<Sourced<int>>;

Result<Port> read_port_setting(const Settings& settings, std::string_view name) {
  const auto text = settings.find(name);
  if (!text) {
    return Port();
  }
  const auto port = read_port(*text);
  if (!port) {
    return port.error();
  }
  return Port(*port);
}

void decide(Cluster& cluster, const char* field, const Port& port) {
  cluster.decisions.push_back(
      {field, port ? std::to_string(port->value) : kLatePort, port ? port->source : kLateSource});
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

}  // namespace

Result<> add_ports(Cluster& cluster, const Findings& findings, const Settings& settings) {
  const auto worker = read_port_setting(settings, "worker-port");
  if (!worker) {
    return worker.error();
  }
  const auto gang = read_port_setting(settings, "gang-port");
  if (!gang) {
    return gang.error();
  }
  const bool is_single = cluster.nodes == 1;
  // One node has no other use for a rendezvous: it is where its workers meet.
  const Port rendezvous = is_single && !findings.master_port ? *worker : findings.master_port;
  const Port workers = is_single && !*worker ? rendezvous : *worker;
  if (rendezvous) {
    cluster.master_port = static_cast<std::uint16_t>(rendezvous->value);
  }
  if (workers) {
    cluster.worker_port = static_cast<std::uint16_t>(workers->value);
  }
  decide(cluster, "rendezvous.port", rendezvous);
  if (!is_single || *worker) {
    decide(cluster, "worker.port", workers);
  }
  if (is_single) {
    return {};
  }
  if (*gang && workers && (*gang)->value == workers->value) {
    return contradiction(*workers, **gang, "workers and agents need a port each");
  }
  const Sourced<int> agents = choose_gang_port(*gang, workers, *rendezvous);
  cluster.gang_port = static_cast<std::uint16_t>(agents.value);
  decide(cluster, "gang.port", agents);
  return {};
}

}  // namespace muster
