// Azure Machine Learning. With the PyTorch distribution RANK and WORLD_SIZE count processes, of which it
// starts process_count_per_instance on each node; with one on each they count nodes, and LOCAL_RANK is 0
// everywhere. The number of nodes tells the two apart. With the MPI distribution the variables of Open MPI
// count the same.
// Source: Microsoft, "Distributed GPU training guide (SDK v2)": PyTorch, and "Environment variables from
// Open MPI" of v1.
#include "platforms/platform.hpp"

#include "base/endpoint.hpp"

#include <array>

namespace muster {
namespace {

constexpr std::array<const char*, 2> kCounts = {"AZUREML_NODE_COUNT", "WORLD_SIZE"};

/// What counts the processes.
struct Names {
  const char* rank;
  const char* size;
  const char* local_rank;
};
constexpr Names kPyTorch = {"RANK", "WORLD_SIZE", "LOCAL_RANK"};
constexpr Names kOpenMpi = {
    "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"};

/// Fills the share of this process, of `each` on a node.
Result<> read_share(PlatformFacts& facts,
                    const Sourced<int>& each,
                    const Names& names,
                    const Snapshot& snapshot) {
  std::optional<Sourced<int>> local_rank;
  std::optional<Sourced<int>> host_rank;
  if (auto read = read_into(local_rank, snapshot, names.local_rank, read_node_rank); !read) {
    return read;
  }
  if (auto read = read_into(host_rank, snapshot, "NODE_RANK", read_node_rank); !read) {
    return read;
  }
  const auto& rank = facts.node_rank;
  if (host_rank && rank && rank->value / each.value != host_rank->value) {
    return contradiction(*rank,
                         *host_rank,
                         "with " + std::to_string(each.value) + " for each node that is on node " +
                             std::to_string(rank->value / each.value));
  }
  if (!local_rank) {
    return {};
  }
  if (local_rank->value >= each.value) {
    return contradiction(*local_rank, each, "a rank must be below its count");
  }
  if (each.value > 1) {  // one on each node has all of it
    facts.share = HostShare{*local_rank, each};
  }
  return {};
}

/// A job whose nodes run one process each and know no more than their number.
Result<> read_plain_nodes(PlatformFacts& facts,
                          const std::optional<Sourced<int>>& hosts,
                          const Snapshot& snapshot) {
  facts.nodes = hosts;
  return read_into(facts.node_rank, snapshot, "NODE_RANK", read_node_rank);
}

Result<> read_nodes(PlatformFacts& facts, const Names& names, const Snapshot& snapshot) {
  std::optional<Sourced<int>> hosts;
  if (auto read = read_into(hosts, snapshot, kCounts.front(), read_node_count); !read) {
    return read;
  }
  if (auto read = read_into(facts.nodes, snapshot, names.size, read_node_count); !read) {
    return read;
  }
  if (!facts.nodes) {
    return read_plain_nodes(facts, hosts, snapshot);
  }
  if (auto read = read_into(facts.node_rank, snapshot, names.rank, read_node_rank); !read) {
    return read;
  }
  const Sourced<int> processes = *facts.nodes;
  if (!hosts && processes.value > 1) {
    return Error{ErrorKind::BadEnvironment,
                 processes.source.name + " is '" + std::to_string(processes.value) +
                     "', and whether these are nodes or processes nothing says: "
                     "AZUREML_NODE_COUNT is not set; pass it on"};
  }
  const int nodes = hosts ? hosts->value : 1;
  if (processes.value % nodes != 0) {
    return contradiction(processes, *hosts, "each node has as many processes");
  }
  const Source source =
      hosts ? part_of(processes.source, " / " + hosts->source.name) : processes.source;
  return read_share(facts, {processes.value / nodes, source}, names, snapshot);
}

/// MASTER_ADDR and MASTER_PORT, else as Azure Batch says it: "10.0.0.4:6105", on one node without a port.
Result<> read_leader(PlatformFacts& facts, const Snapshot& snapshot) {
  auto& address = facts.master_address;
  if (auto read = read_into(address, snapshot, "MASTER_ADDR", read_address); !read) {
    return read;
  }
  if (auto read = read_into(facts.master_port, snapshot, "MASTER_PORT", read_port); !read) {
    return read;
  }
  const auto name = first_set(snapshot, {"AZ_BATCH_MASTER_NODE", "AZ_BATCHAI_MPI_MASTER_NODE"});
  if (address || !name) {
    return {};
  }
  const auto text = *sourced_variable(snapshot, *name);
  const Endpoint endpoint = split_endpoint(text.value);
  const auto host = read_address({endpoint.host, text.source});
  const auto port = read_port({endpoint.port.value_or("1"), text.source});
  if (!host || !port) {
    return wrong_value(text, "host or host:port");
  }
  address = *host;
  if (endpoint.port && !facts.master_port) {
    facts.master_port = *port;
  }
  return {};
}

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  const bool is_distributed =
      first_set(snapshot, {kCounts.front(), kPyTorch.size, kOpenMpi.size}).has_value();
  return is_distributed ? first_set(snapshot, {"AZUREML_RUN_ID"}) : std::nullopt;
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  PlatformFacts facts;
  const bool is_mpi = snapshot.has(kOpenMpi.size) && !snapshot.has(kPyTorch.size);
  if (auto read = read_nodes(facts, is_mpi ? kOpenMpi : kPyTorch, snapshot); !read) {
    return read.error();
  }
  if (auto read = read_leader(facts, snapshot); !read) {
    return read.error();
  }
  facts.job_id = sourced_variable(snapshot, "AZUREML_RUN_ID");
  return facts;
}

}  // namespace

const Platform kAzureml = {
    "azureml",
    "AZUREML_RUN_ID beside AZUREML_NODE_COUNT, WORLD_SIZE or OMPI_COMM_WORLD_SIZE",
    find_sign,
    read_platform,
    kCounts};

}  // namespace muster
