// Platform readers for Google's Vertex AI, Azure Machine Learning and Microsoft's OpenPAI.
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

constexpr std::array<const char*, 2> kTrainers = {"workerpool0", "workerpool1"};  // by node rank

/// The endpoints of the replicas that train, and how many of them are in pool 0.
struct Replicas {
  std::vector<std::string> endpoints;
  std::array<int, kTrainers.size()> sizes{};
};

Result<Replicas> read_replicas(const Source& source, const json::value* cluster) {
  constexpr const char* kForm = "a list of host:port in JSON";
  const Source place = part_of(source, " cluster");
  const auto* const pools = TRY(read_json_members(place, cluster, "an object with a list for each worker pool"));
  Replicas replicas;
  for (std::size_t i = 0; i < kTrainers.size(); ++i) {
    const json::value* const pool = pools->if_contains(kTrainers.at(i));
    if (pool == nullptr && i > 0) {
      continue;
    }
    const auto listed = TRY(read_json_texts(part_of(place, "." + std::string(kTrainers.at(i))), pool, kForm));
    replicas.endpoints.insert(replicas.endpoints.end(), listed.begin(), listed.end());
    replicas.sizes.at(i) = static_cast<int>(listed.size());
  }
  return replicas;
}

/// Takes each endpoint's host, and the port of the first one.
Result<> read_hosts(PlatformFacts& facts, const Replicas& replicas, const Source& source) {
  HostList hosts{{}, source};
  std::optional<Sourced<int>> port;
  for (const std::string& text : replicas.endpoints) {
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

Result<> read_rank(PlatformFacts& facts, const Replicas& replicas, const Source& source, const json::value* task) {
  const Source place = part_of(source, " task");
  const auto* const members = TRY(read_json_members(place, task, "an object with type and index"));
  const json::value* const type = members->if_contains("type");
  const auto index = TRY(
      read_json_number(part_of(place, ".index"), members->if_contains("index"), "the index of this task, such as 0"));
  const bool is_first = shown(type) == kTrainers.front();
  if (!is_first && shown(type) != kTrainers.back()) {
    facts.no_rank = wrong_member(part_of(place, ".type"), type,
                                 "workerpool0 or workerpool1, whose nodes train; give --platform "
                                 "single for what runs on the others");
    return {};
  }
  const int size = is_first ? replicas.sizes.front() : replicas.sizes.back();
  if (index >= size) {
    return contradiction(Sourced<int>{index, part_of(place, ".index")},
                         Sourced<int>{size, part_of(source, " cluster." + shown(type))},
                         "an index must be below its count");
  }
  facts.node_rank = {is_first ? index : replicas.sizes.front() + index, place};
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
    facts.master_port = TRY(read_port({shown(ports->data()), place}));
  } else if (snapshot.has("TF_CONFIG") || facts.nodes->value == 1) {
    facts.master_port.reset();
  }
  return {};
}

Result<> read_vertex(PlatformFacts& facts, const Snapshot& snapshot) {
  const auto text = *sourced_variable(snapshot, "CLUSTER_SPEC");
  const auto members = TRY(read_json_object(text, "a JSON object with cluster and task"));
  const auto replicas = TRY(read_replicas(text.source, members.if_contains("cluster")));
  TRY(read_hosts(facts, replicas, text.source));
  TRY(read_rank(facts, replicas, text.source, members.if_contains("task")));
  return read_port_of_job(facts, text.source, members.if_contains("open_ports"), snapshot);
}

}  // namespace

const Platform kVertex = {.name = "vertex",
                          .signs = {.any = {"CLUSTER_SPEC"}},
                          .variables = {.job_id = "CLOUD_ML_JOB_ID"},
                          .read = read_vertex,
                          .counts = {"CLUSTER_SPEC", "WORLD_SIZE"}};

// Azure Machine Learning. With the PyTorch distribution RANK and WORLD_SIZE count processes:
// process_count_per_instance of them on each node. With one process on each node they count nodes, and LOCAL_RANK is
// 0 everywhere. The number of nodes distinguishes the two. With the MPI distribution the variables of Open MPI count
// the same.
// Source: Microsoft, "Distributed GPU training guide (SDK v2)": PyTorch, and "Environment variables from Open MPI" of
// v1.

namespace {

constexpr const char* kNodes = "AZUREML_NODE_COUNT";

/// Variables that count the processes.
struct ProcessNames {
  const char* rank;
  const char* size;
  const char* local_rank;
};
constexpr ProcessNames kPyTorch = {"RANK", "WORLD_SIZE", "LOCAL_RANK"};
constexpr ProcessNames kOpenMpi = {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"};

/// Fills in the share of this process, with `each` processes on a node.
Result<> read_share(PlatformFacts& facts, const Sourced<int>& each, const ProcessNames& names,
                    const Snapshot& snapshot) {
  const auto local_rank = TRY(read_variable(snapshot, names.local_rank, read_node_rank));
  const auto host_rank = TRY(read_variable(snapshot, "NODE_RANK", read_node_rank));
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

Result<> read_nodes(PlatformFacts& facts, const ProcessNames& names, const Snapshot& snapshot) {
  const auto hosts = TRY(read_variable(snapshot, kNodes, read_node_count));
  TRY(read_into(facts.nodes, snapshot, names.size, read_node_count));
  if (!facts.nodes) {
    facts.nodes = hosts;  // one process on each node, of which only the number is known
    return read_into(facts.node_rank, snapshot, "NODE_RANK", read_node_rank);
  }
  TRY(read_into(facts.node_rank, snapshot, names.rank, read_node_rank));
  const Sourced<int> processes = *facts.nodes;
  if (!hosts && processes.value > 1) {
    return Error{ErrorKind::BadEnvironment, processes.source.name + " is '" + std::to_string(processes.value) +
                                                "', and nothing says whether these are nodes or processes: "
                                                "AZUREML_NODE_COUNT is not set; pass it on"};
  }
  const int nodes = hosts ? hosts->value : 1;
  if (processes.value % nodes != 0) {
    return contradiction(processes, *hosts, "each node has as many processes");
  }
  const Source source = hosts ? part_of(processes.source, " / " + hosts->source.name) : processes.source;
  return read_share(facts, {processes.value / nodes, source}, names, snapshot);
}

/// Reads Azure Batch's variable where MASTER_ADDR is not set: "10.0.0.4:6105", on one node without a port.
Result<> read_leader(PlatformFacts& facts, const Snapshot& snapshot) {
  auto& address = facts.master_address;
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

Result<> read_azureml(PlatformFacts& facts, const Snapshot& snapshot) {
  const bool is_mpi = snapshot.has(kOpenMpi.size) && !snapshot.has(kPyTorch.size);
  TRY(read_nodes(facts, is_mpi ? kOpenMpi : kPyTorch, snapshot));
  return read_leader(facts, snapshot);
}

}  // namespace

const Platform kAzureml = {.name = "azureml",
                           .sign_text = "AZUREML_RUN_ID with AZUREML_NODE_COUNT, WORLD_SIZE or OMPI_COMM_WORLD_SIZE",
                           .signs = {.any = {"AZUREML_RUN_ID"}, .with_any = {kNodes, kPyTorch.size, kOpenMpi.size}},
                           .variables = {.address = {"MASTER_ADDR"}, .port = "MASTER_PORT", .job_id = "AZUREML_RUN_ID"},
                           .read = read_azureml,
                           .counts = {kNodes, "WORLD_SIZE"}};

// OpenPAI: a job has task roles, and each instance of a role is a container with its own index. The instances of this
// container's role are the nodes; a ps or an evaluator is in a role of its own. The number of instances and their hosts
// are in variables with the role's name, in releases before 1.0 under other names.
// Source: microsoft/pai, "How to Use Advanced Job Settings" (1.x), and "Environment variables" of 0.x.

namespace {

/// Reads "10.0.0.4:3000,10.0.0.5:3001" of releases before 1.0.
Result<> read_openpai_list(PlatformFacts& facts, const Sourced<std::string>& list) {
  HostList hosts{{}, list.source};
  for (const std::string& word : listed_words(list.value)) {
    const std::string host = split_endpoint(word).host;
    if (!read_address({host, list.source})) {
      return wrong_value({shortened(word), list.source}, "host:port");
    }
    hosts.value.push_back(host);
  }
  return take_hosts(facts, hosts);
}

Result<> read_openpai(PlatformFacts& facts, const Snapshot& snapshot) {
  const std::string role = snapshot.variable("PAI_CURRENT_TASK_ROLE_NAME").value_or("");
  const std::string count_name = "PAI_TASK_ROLE_TASK_COUNT_" + role;
  if (const auto count = sourced_variable(snapshot, count_name); count && !facts.nodes) {
    facts.nodes = TRY(read_node_count(*count));
  }
  if (const auto list = sourced_variable(snapshot, "PAI_TASK_ROLE_" + role + "_HOST_LIST")) {
    return read_openpai_list(facts, *list);
  }
  const auto first = sourced_variable(snapshot, "PAI_HOST_IP_" + role + "_0");
  if (first && !facts.master_address) {
    facts.master_address = TRY(read_address(*first));
  }
  return {};
}

}  // namespace

const Platform kOpenpai = {.name = "openpai",
                           .signs = {.any = {"PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"}},
                           .variables = {.nodes = {"PAI_CURRENT_TASK_ROLE_TASK_COUNT"},
                                         .node_rank = {"PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"},
                                         .devices = "PAI_CURRENT_TASK_ROLE_GPU_COUNT",
                                         .job_id = "PAI_JOB_NAME"},
                           .read = read_openpai,
                           .counts = {"PAI_CURRENT_TASK_ROLE_TASK_COUNT"}};

}  // namespace muster
