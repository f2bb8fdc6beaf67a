// Reads what the user says about the nodes: the one place that looks such options up.
#include "platform.hpp"
#include "restarts.hpp"

#include <muster/base/text.hpp>
#include <muster/cluster/cluster.hpp>
#include <muster/options/typed_settings.hpp>

namespace muster {
namespace {

template <typename T>
Result<> read_option(std::optional<Sourced<T>>& field,
                     const Settings& settings,
                     std::string_view name,
                     Result<Sourced<T>> (*reader)(const Sourced<std::string>&)) {
  const auto text = settings.find(name);
  if (!text) {
    return {};
  }
  auto value = reader(*text);
  if (!value) {
    return value.error();
  }
  field = std::move(*value);
  return {};
}

Result<Sourced<int>> read_total(const Sourced<std::string>& text) {
  const auto number = parse_integer(text.value, 1, kMostWorkers);
  if (!number) {
    return wrong_value(text, "a number of workers from 1 to " + std::to_string(kMostWorkers));
  }
  return Sourced<int>{*number, text.source};
}

Result<> read_numbers(ClusterRequest& request, const Settings& settings) {
  if (auto read = read_option(request.nodes, settings, "nnodes", read_node_range); !read) {
    return read;
  }
  if (auto read = read_option(request.workers, settings, "total-workers", read_total); !read) {
    return read;
  }
  if (auto read = read_option(request.max_restarts, settings, "max-restarts", read_restarts);
      !read) {
    return read;
  }
  return read_option(request.node_rank, settings, "node-rank", read_node_rank);
}

Result<> read_places(ClusterRequest& request, const Settings& settings) {
  if (auto read = read_option(request.master_address, settings, "master-addr", read_address);
      !read) {
    return read;
  }
  if (auto read = read_option(request.master_port, settings, "master-port", read_port); !read) {
    return read;
  }
  if (auto read = read_option(request.worker_port, settings, "worker-port", read_port); !read) {
    return read;
  }
  return read_option(request.gang_port, settings, "gang-port", read_port);
}

}  // namespace

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
  if (auto read = read_option(given, settings, "max-restarts", read_restarts); !read) {
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
  ModeFacts mode;
  mode.roles = roles;
  return describe_cluster(snapshot, *request, mode);
}

}  // namespace muster
