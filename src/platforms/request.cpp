// What the user says about the nodes: the one place that looks such options up, and puts them above what a
// platform says.
#include "platforms/platform.hpp"
#include "platforms/restarts.hpp"

#include "base/text.hpp"
#include "platforms/cluster.hpp"
#include "platforms/run_method.hpp"
#include "options/typed_settings.hpp"

namespace muster {
namespace {

Result<Sourced<int>> read_total(const Sourced<std::string>& text) {
  const auto number = parse_integer(text.value, 1, kMostWorkers);
  if (!number) {
    return wrong_value(text, "a number of workers from 1 to " + std::to_string(kMostWorkers));
  }
  return Sourced<int>{*number, text.source};
}

Result<> read_numbers(ClusterRequest& request, const Settings& settings) {
  if (auto read = read_into(request.nodes, settings.find("nnodes"), read_node_range); !read) {
    return read;
  }
  if (auto read = read_into(request.workers, settings.find("total-workers"), read_total); !read) {
    return read;
  }
  if (auto read = read_into(request.max_restarts, settings.find("max-restarts"), read_restarts);
      !read) {
    return read;
  }
  return read_into(request.node_rank, settings.find("node-rank"), read_node_rank);
}

Result<> read_places(ClusterRequest& request, const Settings& settings) {
  if (auto read = read_into(request.master_address, settings.find("master-addr"), read_address);
      !read) {
    return read;
  }
  if (auto read = read_into(request.master_port, settings.find("master-port"), read_port); !read) {
    return read;
  }
  if (auto read = read_into(request.worker_port, settings.find("worker-port"), read_port); !read) {
    return read;
  }
  return read_into(request.gang_port, settings.find("gang-port"), read_port);
}

std::string to_text(const std::string& value) {
  return value;
}
std::string to_text(int value) {
  return std::to_string(value);
}

/// Another value than the one that is there is noted.
template <typename T>
void override_field(std::vector<UnusedValue>& lost,
                    const char* name,
                    std::optional<Sourced<T>>& field,
                    const std::optional<Sourced<T>>& given) {
  if (!given) {
    return;
  }
  if (field && field->value != given->value) {
    lost.push_back(
        {name, {to_text(field->value), field->source}, given->source.name + " replaces it"});
  }
  field = given;
}

}  // namespace

void apply_request(PlatformFacts& facts, const ClusterRequest& request) {
  if (request.nodes) {
    const std::optional<Sourced<int>> most{{request.nodes->value.most, request.nodes->source}};
    override_field(facts.lost, "nodes.count", facts.nodes, most);
    set_nodes(facts, *request.nodes);
    facts.workers.reset();  // those of the platform's nodes
  }
  // A job of one node has only one rank, whatever the platform calls this machine, and nothing
  // that is meant for several nodes applies to it.
  if (request.nodes && facts.nodes->value == 1) {
    facts.node_rank = {0, facts.nodes->source};
    facts.hosts.reset();
    facts.master_address.reset();
    facts.master_port.reset();
  }
  override_field(facts.lost, "nodes.rank", facts.node_rank, request.node_rank);
  override_field(facts.lost, "rendezvous.address", facts.master_address, request.master_address);
  override_field(facts.lost, "rendezvous.port", facts.master_port, request.master_port);
  override_field(facts.lost, "nodes.slots", facts.slots, request.slots);
  override_field(facts.lost, "job_id", facts.job_id, request.job_id);
}

Result<ClusterRequest> read_cluster_request(const Settings& settings) {
  ClusterRequest request;
  request.platform = settings.find("platform");
  request.slots = settings.find("nproc-per-node");
  request.job_id = settings.find("job-id");
  request.roles = settings.find("roles");
  if (auto read = read_numbers(request, settings); !read) {
    return read.error();
  }
  if (auto read = read_places(request, settings); !read) {
    return read.error();
  }
  if (auto read = read_duration(request.grace, settings, "grace"); !read) {
    return read.error();
  }
  return request;
}

Result<Sourced<int>> read_max_restarts(const Snapshot& snapshot, const Settings& settings) {
  std::optional<Sourced<int>> given;
  if (auto read = read_into(given, settings.find("max-restarts"), read_restarts); !read) {
    return read.error();
  }
  return find_restarts(snapshot, given);
}

Result<Cluster> describe_cluster(const Snapshot& snapshot,
                                 const Settings& settings,
                                 const std::vector<std::string>& roles) {
  const auto request = read_cluster_request(settings);
  if (!request) {
    return request.error();
  }
  const RunMethod* const method = find_run_method(snapshot);
  ModeFacts mode;
  mode.name = method == nullptr ? "" : method->mode;
  mode.roles = roles;
  return describe_cluster(snapshot, *request, mode);
}

}  // namespace muster
