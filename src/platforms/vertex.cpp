// Google's Vertex AI: CLUSTER_SPEC lists the replicas of each worker pool. Pool 0 is the primary replica
// and has rank 0, pool 1 are the workers behind it; the replicas of pool 2 (parameter or reduction servers)
// and 3 (evaluators) do not train. RANK and WORLD_SIZE are not read, since only some images have them.
// Source: Google Cloud, Vertex AI, "Distributed training": "Format of CLUSTER_SPEC"; CLOUD_ML_JOB_ID is the
// job's id.
#include "platforms/hosts.hpp"
#include "platforms/json_values.hpp"

#include <array>

namespace muster {
namespace {

constexpr std::array<const char*, 2> kCounts = {"CLUSTER_SPEC", "WORLD_SIZE"};
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
    const auto listed =
        read_json_texts(part_of(place, "." + std::string(kTrainers.at(i))), pool, kForm);
    if (!listed) {
      return listed.error();
    }
    trainers.endpoints.insert(trainers.endpoints.end(), listed->begin(), listed->end());
    trainers.sizes.at(i) = static_cast<int>(listed->size());
  }
  return trainers;
}

/// The host of each, and the port of the first one.
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

Result<> read_rank(PlatformFacts& facts,
                   const Trainers& trainers,
                   const Source& source,
                   const json::value* task) {
  const Source place = part_of(source, " task");
  const json::object* const members = task == nullptr ? nullptr : task->if_object();
  if (members == nullptr) {
    return wrong_member(place, task, "an object with type and index");
  }
  const json::value* const type = members->if_contains("type");
  const auto index = read_json_number(part_of(place, ".index"),
                                      members->if_contains("index"),
                                      0,
                                      "the index of this task, such as 0");
  if (!index) {
    return index.error();
  }
  const bool is_first = shown(type) == kTrainers.front();
  if (!is_first && shown(type) != kTrainers.back()) {
    facts.no_rank = wrong_member(part_of(place, ".type"),
                                 type,
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

/// Ports that are open for what is trained; a task of TensorFlow listens on that of the list.
Result<> read_port_of_job(PlatformFacts& facts,
                          const Source& source,
                          const json::value* open,
                          const Snapshot& snapshot) {
  const json::array* const ports = open == nullptr ? nullptr : open->if_array();
  const Source place = part_of(source, " open_ports");
  if (open != nullptr && (ports == nullptr || ports->empty())) {
    return wrong_member(place, open, "a list of ports such as [3333]");
  }
  if (ports != nullptr) {
    return read_into(
        facts.master_port, Sourced<std::string>{shown(ports->data()), place}, read_port);
  }
  if (snapshot.has("TF_CONFIG") || facts.nodes->value == 1) {
    facts.master_port.reset();
  }
  return {};
}

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  return first_set(snapshot, {"CLUSTER_SPEC"});
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
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
  if (auto read =
          read_port_of_job(facts, text.source, members->if_contains("open_ports"), snapshot);
      !read) {
    return read.error();
  }
  facts.job_id = sourced_variable(snapshot, "CLOUD_ML_JOB_ID");
  return facts;
}

}  // namespace

const Platform kVertex = {"vertex", "CLUSTER_SPEC", find_sign, read_platform, kCounts};

}  // namespace muster
