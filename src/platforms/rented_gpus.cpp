// Platform readers for RunPod, SkyPilot, dstack and Determined AI.
//
// RunPod's Instant Clusters: NODE_RANK and NUM_NODES count nodes, but WORLD_SIZE counts the GPUs of all
// nodes. RANK is not set. MASTER_* repeat PRIMARY_*, and HOST_NODE_ADDR both of them.
// Source: docs.runpod.io, Instant Clusters, "Configuration reference".
#include "base/text.hpp"
#include "options/readers.hpp"
#include "platforms/host_lists.hpp"
#include "platforms/slots.hpp"
#include "platforms/task_config.hpp"

#include <array>

namespace muster {
namespace {

Result<> read_rented_leader(PlatformFacts& facts, const Snapshot& snapshot) {
  constexpr const char* kWhy = "both say where the primary node is";
  auto& address = facts.master_address;
  auto& port = facts.master_port;
  TRY(read_agreeing(address, snapshot, {"PRIMARY_ADDR", "MASTER_ADDR"}, read_address, kWhy));
  TRY(read_agreeing(port, snapshot, {"PRIMARY_PORT", "MASTER_PORT"}, read_port, kWhy));
  const auto both = sourced_variable(snapshot, "HOST_NODE_ADDR");
  if (both && address && port && both->value != join_endpoint(address->value, std::to_string(port->value))) {
    return contradiction(*both,
                         {join_endpoint(address->value, std::to_string(port->value)),
                          {address->source.kind, address->source.name + ":" + port->source.name}},
                         kWhy);
  }
  return {};
}

/// Fails where a node with another rank than 0 has the primary node's address.
Result<> check_own_address(const PlatformFacts& facts, const Snapshot& snapshot) {
  const auto own = TRY(read_variable(snapshot, "NODE_ADDR", read_address));
  const auto& rank = facts.node_rank;
  const auto& leader = facts.master_address;
  if (own && leader && rank && (own->value == leader->value) != (rank->value == 0)) {
    return contradiction(
        *own, *leader,
        rank->source.name + " is '" + std::to_string(rank->value) + "', and 0 is the rank of the primary node");
  }
  return {};
}

/// Finds a variable of RunPod, or all variables of its clusters: single names are too common.
std::optional<std::string> find_runpod_sign(const Snapshot& snapshot) {
  const auto first = snapshot.variables.lower_bound("RUNPOD_");
  const bool is_runpod = (first != snapshot.variables.end() && first->first.starts_with("RUNPOD_")) ||
                         (snapshot.has("PRIMARY_ADDR") && snapshot.has("HOST_NODE_ADDR"));
  const bool is_cluster = snapshot.has("NUM_NODES") && snapshot.has("NUM_TRAINERS");
  return is_runpod && is_cluster ? std::optional<std::string>("NUM_NODES") : std::nullopt;
}

Result<> read_runpod(PlatformFacts& facts, const Snapshot& snapshot) {
  TRY(read_rented_leader(facts, snapshot));
  return check_own_address(facts, snapshot);
}

}  // namespace

const Platform kRunpod = {.name = "runpod",
                          .sign_text = "NUM_NODES with RUNPOD_* or PRIMARY_ADDR",
                          .find_sign = find_runpod_sign,
                          .variables = {.nodes = {"NUM_NODES"},
                                        .node_rank = {"NODE_RANK"},
                                        .devices = "NUM_TRAINERS",
                                        .all_devices = "WORLD_SIZE"},
                          .read = read_runpod,
                          .counts = {"NUM_NODES", "WORLD_SIZE"}};

// SkyPilot: the `run` commands of a task run once on each node, and SKYPILOT_NODE_RANK counts nodes. RANK
// and WORLD_SIZE are not set.
// Source: docs.skypilot.co, "Distributed Multi-Node Jobs" and "SkyPilot environment variables".

const Platform kSkypilot = {.name = "skypilot",
                            .signs = {.any = {"SKYPILOT_NODE_RANK"}},
                            .variables = {.nodes = {"SKYPILOT_NUM_NODES"},
                                          .node_rank = {"SKYPILOT_NODE_RANK"},
                                          .hosts = "SKYPILOT_NODE_IPS",
                                          .devices = "SKYPILOT_NUM_GPUS_PER_NODE",
                                          .job_id = "SKYPILOT_TASK_ID"},
                            .counts = {"SKYPILOT_NUM_NODES", "SKYPILOT_NODE_IPS"}};

// dstack: a distributed task runs its commands once on each node, and DSTACK_NODE_RANK counts nodes. RANK
// and WORLD_SIZE are not set. On one node the addresses may be empty. The file of DSTACK_MPI_HOSTFILE
// repeats what DSTACK_NODES_IPS and DSTACK_GPUS_PER_NODE say, and is not read.
// Source: dstack.ai, "Environment variables" of .dstack.yml, and "Distributed tasks".

const Platform kDstack = {.name = "dstack",
                          .signs = {.any = {"DSTACK_NODE_RANK", "DSTACK_NODES_NUM"}},
                          .variables = {.nodes = {"DSTACK_NODES_NUM"},
                                        .node_rank = {"DSTACK_NODE_RANK"},
                                        .address = {"DSTACK_MASTER_NODE_IP"},
                                        .hosts = "DSTACK_NODES_IPS",
                                        .devices = "DSTACK_GPUS_PER_NODE",
                                        .all_devices = "DSTACK_GPUS_NUM",
                                        .job_id = "DSTACK_RUN_NAME",
                                        .may_be_empty = true},
                          .counts = {"DSTACK_NODES_NUM", "DSTACK_NODES_IPS"}};

// Determined AI: a task of several containers gets its members only from an API of the master; its own launch layers
// call it and pass DET_CHIEF_IP on. The environment has this container's slots, and for a trial the slots of all
// containers. So the number of nodes can be computed, ranks follow arrival order, and the user must give the leader.
// RANK and WORLD_SIZE are not set.
// Source: determined-ai/determined, master/pkg/tasks (DET_*), harness/determined/_info.py.

namespace {

constexpr const char* kConfig = "DET_EXPERIMENT_CONFIG";

/// Counts the slots of this container: "[0,1,2]" are three.
Result<std::optional<Sourced<int>>> count_own_slots(const Snapshot& snapshot) {
  const auto text = sourced_variable(snapshot, "DET_SLOT_IDS");
  if (!text) {
    return std::optional<Sourced<int>>();
  }
  constexpr const char* kForm = "a list of numbers such as [0,1]";
  const auto document = TRY(read_json(*text, kForm));
  const json::array* const ids = document.if_array();
  if (ids == nullptr) {
    return wrong_value(*text, kForm);
  }
  return std::optional(Sourced<int>{static_cast<int>(ids->size()), text->source});
}

/// Reads the slots of all containers; ignores the rest of the experiment's configuration.
Result<std::optional<Sourced<int>>> count_all_slots(const Snapshot& snapshot) {
  const auto text = sourced_variable(snapshot, kConfig);
  boost::system::error_code error;
  const json::value document = text ? json::parse(text->value, error) : json::value();  // null where it is torn
  const json::value* const slots = document.find_pointer("/resources/slots_per_trial", error);
  if (slots == nullptr) {
    return std::optional<Sourced<int>>();
  }
  const Source place = part_of(text->source, " resources.slots_per_trial");
  return std::optional(Sourced<int>{TRY(read_json_number(place, slots, "a number of slots")), place});
}

Result<> read_nodes(PlatformFacts& facts, const Snapshot& snapshot) {
  const auto own = TRY(count_own_slots(snapshot));
  const auto all = TRY(count_all_slots(snapshot));
  if (own && own->value > 0) {
    facts.slots = as_text(*own);
  }
  const auto id = sourced_variable(snapshot, "DET_ALLOCATION_ID");
  if (!own || !all) {
    facts.no_nodes = Error{ErrorKind::BadEnvironment,
                           id->source.name + " is '" + id->value +
                               "', and only Determined's API says how many containers it has; give --nnodes"};
    return {};
  }
  const int each = std::max(own->value, 1);
  const int together = std::max(all->value, 1);
  if (together % each != 0) {
    return contradiction({std::to_string(together), all->source}, *sourced_variable(snapshot, own->source.name),
                         "the number of all slots must be a multiple of the slots of one container");
  }
  facts.nodes = {together / each, part_of(all->source, " / " + own->source.name)};
  return {};
}

Result<Sourced<int>> read_run(const Sourced<std::string>& text) {
  return Sourced<int>{TRY(read_integer(text, 1, kMostNodes, "the number of this run, from 1")) - 1, text.source};
}

Result<> read_determined(PlatformFacts& facts, const Snapshot& snapshot) {
  TRY(read_nodes(facts, snapshot));
  return read_into(facts.restart_count, snapshot, "DET_TRIAL_RUN_ID", read_run);
}

}  // namespace

const Platform kDetermined = {.name = "determined",
                              .signs = {.any = {"DET_ALLOCATION_ID"}},
                              .variables = {.address = {"DET_CHIEF_IP"}, .job_id = "DET_ALLOCATION_ID"},
                              .read = read_determined,
                              .may_lack_rank = true};

}  // namespace muster
