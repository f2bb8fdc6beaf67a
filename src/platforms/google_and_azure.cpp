// Platform readers for Google's Vertex AI and Azure Machine Learning.
//
// Google's Vertex AI: CLUSTER_SPEC lists the replicas of each worker pool. Pool 0 is the primary replica
// and has rank 0, pool 1 are the workers behind it; the replicas of pool 2 (parameter or reduction servers)
// and 3 (evaluators) do not train. RANK and WORLD_SIZE are not read, since only some images have them.
// Source: Google Cloud, Vertex AI, "Distributed training": "Format of CLUSTER_SPEC"; CLOUD_ML_JOB_ID is the
// job's id.
#include "base/endpoint.hpp"
#include "platforms/host_lists.hpp"
#include "platforms/platform.hpp"
#include "platforms/task_config.hpp"

#include <array>

namespace muster {
namespace {

constexpr std::array<const char*, 2> kVertexCounts = {"CLUSTER_SPEC", "WORLD_SIZE"};
constexpr std::array<const char*, 2> kTrainers = {"workerpool0", "workerpool1"};  // by node rank

/// The endpoints of the replicas that train, and how many of them are in pool 0.
struct Trainers {
  std::vector<std::string> endpoints;
  std::array<int, kTrainers.size()> sizes{};
};

Result<Trainers> read_trainers(const Source& source, const json::value* cluster) {
  constexpr const char* kForm = "a list of host:port in JSON";
  const Source place = part_of(source, " cluster");
  const json::object* const pools = cluster == nullptr ? nullptr : cluster->if_object();
  if (pools == nullptr) {
    return wrong_member(place, cluster, "an object with a list for each worker pool");
  }
  Trainers trainers;
  for (std::size_t i = 0; i < kTrainers.size(); ++i) {
    const json::value* const pool = pools->if_contains(kTrainers.at(i));
    if (pool == nullptr && i > 0) {
      continue;
    }
    const auto listed = read_json_texts(part_of(place, "." + std::string(kTrainers.at(i))), pool, kForm);
    if (!listed) {
      return listed.error();
    }
    trainers.endpoints.insert(trainers.endpoints.end(), listed->begin(), listed->end());
    trainers.sizes.at(i) = static_cast<int>(listed->size());
  }
  return trainers;
}

/// Takes each endpoint's host, and the port of the first one.
Result<> read_hosts(PlatformFacts& facts, const Trainers& trainers, const Source& source) {
  HostList hosts{{}, source};
  std::optional<Sourced<int>> port;
  for (const std::string& text : trainers.endpoints) {
    const Endpoint endpoint = split_endpoint(text);
    const auto given = read_port({endpoint.port.value_or(""), source});
    if (!read_address({endpoint.host, source}) || !given) {
      return wrong_value({shortened(text), part_of(source, " cluster")}, "host:port");
    }
    port = port ? port : *given;
    hosts.value.push_back(endpoint.host);
  }
  facts.master_port = port;
  return take_hosts(facts, hosts);
}

Result<> read_rank(PlatformFacts& facts, const Trainers& trainers, const Source& source, const json::value* task) {
  const Source place = part_of(source, " task");
  const json::object* const members = task == nullptr ? nullptr : task->if_object();
  if (members == nullptr) {
    return wrong_member(place, task, "an object with type and index");
  }
  const json::value* const type = members->if_contains("type");
  const auto index =
      read_json_number(part_of(place, ".index"), members->if_contains("index"), 0, "the index of this task, such as 0");
  if (!index) {
    return index.error();
  }
  const bool is_first = shown(type) == kTrainers.front();
  if (!is_first && shown(type) != kTrainers.back()) {
    facts.no_rank = wrong_member(part_of(place, ".type"), type,
                                 "workerpool0 or workerpool1, whose nodes train; give --platform "
                                 "single for what runs on the others");
    return {};
  }
  const int size = is_first ? trainers.sizes.front() : trainers.sizes.back();
  if (*index >= size) {
    return contradiction(Sourced<int>{*index, part_of(place, ".index")},
                         Sourced<int>{size, part_of(source, " cluster." + shown(type))},
                         "an index must be below its count");
  }
  facts.node_rank = {is_first ? *index : trainers.sizes.front() + *index, place};
  return {};
}

/// Reads ports that are open for the job; a task of TensorFlow listens on the port in the list.
Result<> read_port_of_job(PlatformFacts& facts, const Source& source, const json::value* open,
                          const Snapshot& snapshot) {
  const json::array* const ports = open == nullptr ? nullptr : open->if_array();
  const Source place = part_of(source, " open_ports");
  if (open != nullptr && (ports == nullptr || ports->empty())) {
    return wrong_member(place, open, "a list of ports such as [3333]");
  }
  if (ports != nullptr) {
    return read_into(facts.master_port, Sourced<std::string>{shown(ports->data()), place}, read_port);
  }
  if (snapshot.has("TF_CONFIG") || facts.nodes->value == 1) {
    facts.master_port.reset();
  }
  return {};
}

Result<PlatformFacts> read_vertex(const Snapshot& snapshot) {
  PlatformFacts facts;
  const auto text = *sourced_variable(snapshot, "CLUSTER_SPEC");
  const auto members = read_json_object(text, "a JSON object with cluster and task");
  if (!members) {
    return members.error();
  }
  const auto trainers = read_trainers(text.source, members->if_contains("cluster"));
  if (!trainers) {
    return trainers.error();
  }
  if (auto read = read_hosts(facts, *trainers, text.source); !read) {
    return read.error();
  }
  if (auto read = read_rank(facts, *trainers, text.source, members->if_contains("task")); !read) {
    return read.error();
  }
  if (auto read = read_port_of_job(facts, text.source, members->if_contains("open_ports"), snapshot); !read) {
    return read.error();
  }
  facts.job_id = sourced_variable(snapshot, "CLOUD_ML_JOB_ID");
  return facts;
}

}  // namespace

const Platform kVertex = {"vertex", "CLUSTER_SPEC",
                          [](const Snapshot& snapshot) { return first_set(snapshot, {"CLUSTER_SPEC"}); }, read_vertex,
                          kVertexCounts};

// Azure Machine Learning. With the PyTorch distribution RANK and WORLD_SIZE count processes, of which it
// starts process_count_per_instance on each node; with one on each node they count nodes, and LOCAL_RANK is 0
// everywhere. The number of nodes distinguishes the two. With the MPI distribution the variables of Open MPI
// count the same.
// Source: Microsoft, "Distributed GPU training guide (SDK v2)": PyTorch, and "Environment variables from
// Open MPI" of v1.

namespace {

constexpr std::array<const char*, 2> kAzuremlCounts = {"AZUREML_NODE_COUNT", "WORLD_SIZE"};

/// Variables that count the processes.
struct Names {
  const char* rank;
  const char* size;
  const char* local_rank;
};
constexpr Names kPyTorch = {"RANK", "WORLD_SIZE", "LOCAL_RANK"};
constexpr Names kOpenMpi = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"};

/// Fills in the share of this process, with `each` processes on a node.
Result<> read_share(PlatformFacts& facts, const Sourced<int>& each, const Names& names, const Snapshot& snapshot) {
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
    return contradiction(*rank, *host_rank,
                         "with " + std::to_string(each.value) + " for each node that is on node " +
                             std::to_string(rank->value / each.value));
  }
  if (!local_rank) {
    return {};
  }
  if (local_rank->value >= each.value) {
    return contradiction(*local_rank, each, "a rank must be below its count");
  }
  if (each.value > 1) {  // a single process has the whole node
    facts.share = HostShare{*local_rank, each};
  }
  return {};
}

Result<> read_nodes(PlatformFacts& facts, const Names& names, const Snapshot& snapshot) {
  std::optional<Sourced<int>> hosts;
  if (auto read = read_into(hosts, snapshot, kAzuremlCounts.front(), read_node_count); !read) {
    return read;
  }
  if (auto read = read_into(facts.nodes, snapshot, names.size, read_node_count); !read) {
    return read;
  }
  if (!facts.nodes) {
    facts.nodes = hosts;  // one process on each node, of which only the number is known
    return read_into(facts.node_rank, snapshot, "NODE_RANK", read_node_rank);
  }
  if (auto read = read_into(facts.node_rank, snapshot, names.rank, read_node_rank); !read) {
    return read;
  }
  const Sourced<int> processes = *facts.nodes;
  if (!hosts && processes.value > 1) {
    return Error{ErrorKind::BadEnvironment, processes.source.name + " is '" + std::to_string(processes.value) +
                                                "', and whether these are nodes or processes nothing says: "
                                                "AZUREML_NODE_COUNT is not set; pass it on"};
  }
  const int nodes = hosts ? hosts->value : 1;
  if (processes.value % nodes != 0) {
    return contradiction(processes, *hosts, "each node has as many processes");
  }
  const Source source = hosts ? part_of(processes.source, " / " + hosts->source.name) : processes.source;
  return read_share(facts, {processes.value / nodes, source}, names, snapshot);
}

/// Reads MASTER_ADDR and MASTER_PORT, else Azure Batch's variable: "10.0.0.4:6105", on one node without a port.
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

std::optional<std::string> find_azureml_sign(const Snapshot& snapshot) {
  const bool is_distributed = first_set(snapshot, {kAzuremlCounts.front(), kPyTorch.size, kOpenMpi.size}).has_value();
  return is_distributed ? first_set(snapshot, {"AZUREML_RUN_ID"}) : std::nullopt;
}

Result<PlatformFacts> read_azureml(const Snapshot& snapshot) {
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

const Platform kAzureml = {"azureml", "AZUREML_RUN_ID beside AZUREML_NODE_COUNT, WORLD_SIZE or OMPI_COMM_WORLD_SIZE",
                           find_azureml_sign, read_azureml, kAzuremlCounts};

}  // namespace muster
