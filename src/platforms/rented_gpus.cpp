// Platform readers for RunPod, SkyPilot, dstack and Determined AI.
//
// RunPod's Instant Clusters: NODE_RANK and NUM_NODES count nodes, but WORLD_SIZE counts the GPUs of all
// nodes. RANK is not set. MASTER_* repeat PRIMARY_*, and HOST_NODE_ADDR both of them.
// Source: docs.runpod.io, Instant Clusters, "Configuration reference".
#include "base/text.hpp"
#include "platforms/host_lists.hpp"
#include "platforms/slots.hpp"
#include "platforms/task_config.hpp"

#include <array>

namespace muster {
namespace {

constexpr std::array<const char*, 2> kRunpodCounts = {"NUM_NODES", "WORLD_SIZE"};

Result<> read_leader(PlatformFacts& facts, const Snapshot& snapshot) {
  constexpr const char* kWhy = "both say where the primary node is";
  auto& address = facts.master_address;
  auto& port = facts.master_port;
  if (auto read = read_agreeing(address, snapshot, {"PRIMARY_ADDR", "MASTER_ADDR"}, read_address, kWhy); !read) {
    return read;
  }
  if (auto read = read_agreeing(port, snapshot, {"PRIMARY_PORT", "MASTER_PORT"}, read_port, kWhy); !read) {
    return read;
  }
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
  std::optional<Sourced<std::string>> own;
  if (auto read = read_into(own, snapshot, "NODE_ADDR", read_address); !read) {
    return read;
  }
  const auto& rank = facts.node_rank;
  const auto& leader = facts.master_address;
  if (own && leader && rank && (own->value == leader->value) != (rank->value == 0)) {
    return contradiction(
        *own, *leader,
        rank->source.name + " is '" + std::to_string(rank->value) + "', and 0 is the rank of the primary node");
  }
  return {};
}

Result<> read_runpod_slots(PlatformFacts& facts, const Snapshot& snapshot) {
  if (auto read = read_devices(facts, snapshot, "NUM_TRAINERS"); !read) {
    return read;
  }
  return check_all_devices(facts, snapshot, "WORLD_SIZE");
}

/// Finds a variable of RunPod, or all variables of its clusters: single names are too common.
std::optional<std::string> find_runpod_sign(const Snapshot& snapshot) {
  const auto first = snapshot.variables.lower_bound("RUNPOD_");
  const bool is_runpod = (first != snapshot.variables.end() && first->first.starts_with("RUNPOD_")) ||
                         (snapshot.has("PRIMARY_ADDR") && snapshot.has("HOST_NODE_ADDR"));
  const bool is_cluster = snapshot.has("NUM_NODES") && snapshot.has("NUM_TRAINERS");
  return is_runpod && is_cluster ? std::optional<std::string>("NUM_NODES") : std::nullopt;
}

Result<PlatformFacts> read_runpod(const Snapshot& snapshot) {
  PlatformFacts facts;
  if (auto read = read_into(facts.nodes, snapshot, "NUM_NODES", read_node_count); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.node_rank, snapshot, "NODE_RANK", read_node_rank); !read) {
    return read.error();
  }
  if (auto read = read_leader(facts, snapshot); !read) {
    return read.error();
  }
  if (auto checked = check_own_address(facts, snapshot); !checked) {
    return checked.error();
  }
  if (auto read = read_runpod_slots(facts, snapshot); !read) {
    return read.error();
  }
  return facts;
}

}  // namespace

const Platform kRunpod = {"runpod", "NUM_NODES beside RUNPOD_* or PRIMARY_ADDR", find_runpod_sign, read_runpod,
                          kRunpodCounts};

// SkyPilot: the `run` commands of a task run once on each node, and SKYPILOT_NODE_RANK counts nodes. RANK
// and WORLD_SIZE are not set.
// Source: docs.skypilot.co, "Distributed Multi-Node Jobs" and "SkyPilot environment variables".

namespace {

constexpr std::array<const char*, 2> kSkypilotCounts = {"SKYPILOT_NUM_NODES", "SKYPILOT_NODE_IPS"};

Result<PlatformFacts> read_skypilot(const Snapshot& snapshot) {
  PlatformFacts facts;
  if (auto read = read_into(facts.nodes, snapshot, "SKYPILOT_NUM_NODES", read_node_count); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.node_rank, snapshot, "SKYPILOT_NODE_RANK", read_node_rank); !read) {
    return read.error();
  }
  if (const auto listed = sourced_variable(snapshot, "SKYPILOT_NODE_IPS")) {
    const auto hosts = read_host_list(*listed);
    if (!hosts) {
      return hosts.error();
    }
    if (auto taken = take_hosts(facts, *hosts); !taken) {
      return taken.error();
    }
  }
  if (auto read = read_devices(facts, snapshot, "SKYPILOT_NUM_GPUS_PER_NODE"); !read) {
    return read.error();
  }
  facts.job_id = sourced_variable(snapshot, "SKYPILOT_TASK_ID");
  return facts;
}

}  // namespace

const Platform kSkypilot = {"skypilot", "SKYPILOT_NODE_RANK",
                            [](const Snapshot& snapshot) { return first_set(snapshot, {"SKYPILOT_NODE_RANK"}); },
                            read_skypilot, kSkypilotCounts};

// dstack: a distributed task runs its commands once on each node, and DSTACK_NODE_RANK counts nodes. RANK
// and WORLD_SIZE are not set. On one node the addresses may be empty. The file of DSTACK_MPI_HOSTFILE
// repeats what DSTACK_NODES_IPS and DSTACK_GPUS_PER_NODE say, and is not read.
// Source: dstack.ai, "Environment variables" of .dstack.yml, and "Distributed tasks".

namespace {

constexpr std::array<const char*, 2> kDstackCounts = {"DSTACK_NODES_NUM", "DSTACK_NODES_IPS"};

std::optional<Sourced<std::string>> filled_variable(const Snapshot& snapshot, const char* name) {
  const auto text = sourced_variable(snapshot, name);
  return text && text->value.empty() ? std::nullopt : text;
}

Result<> read_hosts(PlatformFacts& facts, const Snapshot& snapshot) {
  if (auto read = read_into(facts.master_address, filled_variable(snapshot, "DSTACK_MASTER_NODE_IP"), read_address);
      !read) {
    return read;
  }
  const auto listed = filled_variable(snapshot, "DSTACK_NODES_IPS");
  if (!listed) {
    return {};
  }
  const auto hosts = read_host_list(*listed);
  return hosts ? take_hosts(facts, *hosts) : hosts.error();
}

Result<> read_dstack_slots(PlatformFacts& facts, const Snapshot& snapshot) {
  if (auto read = read_devices(facts, snapshot, "DSTACK_GPUS_PER_NODE"); !read) {
    return read;
  }
  return check_all_devices(facts, snapshot, "DSTACK_GPUS_NUM");
}

Result<PlatformFacts> read_dstack(const Snapshot& snapshot) {
  PlatformFacts facts;
  if (auto read = read_into(facts.nodes, snapshot, "DSTACK_NODES_NUM", read_node_count); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.node_rank, snapshot, "DSTACK_NODE_RANK", read_node_rank); !read) {
    return read.error();
  }
  if (auto read = read_hosts(facts, snapshot); !read) {
    return read.error();
  }
  if (auto read = read_dstack_slots(facts, snapshot); !read) {
    return read.error();
  }
  facts.job_id = sourced_variable(snapshot, "DSTACK_RUN_NAME");
  return facts;
}

}  // namespace

const Platform kDstack = {"dstack", "DSTACK_NODE_RANK or DSTACK_NODES_NUM",
                          [](const Snapshot& snapshot) {
                            return first_set(snapshot, {"DSTACK_NODE_RANK", "DSTACK_NODES_NUM"});
                          },
                          read_dstack, kDstackCounts};

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
  const auto document = read_json(*text, kForm);
  if (!document) {
    return document.error();
  }
  const json::array* const ids = document->if_array();
  if (ids == nullptr) {
    return wrong_value(*text, kForm);
  }
  return std::optional(Sourced<int>{static_cast<int>(ids->size()), text->source});
}

/// Reads the slots of all containers; ignores the rest of the experiment's configuration.
Result<std::optional<Sourced<int>>> count_all_slots(const Snapshot& snapshot) {
  const auto text = sourced_variable(snapshot, kConfig);
  boost::system::error_code error;
  const json::value document = text ? json::parse(text->value, error) : json::value();
  const json::object* const members = error ? nullptr : document.if_object();
  const json::value* const resources = members == nullptr ? nullptr : members->if_contains("resources");
  const json::object* const needs = resources == nullptr ? nullptr : resources->if_object();
  const json::value* const slots = needs == nullptr ? nullptr : needs->if_contains("slots_per_trial");
  if (slots == nullptr) {
    return std::optional<Sourced<int>>();
  }
  const Source place = part_of(text->source, " resources.slots_per_trial");
  const auto count = read_json_number(place, slots, 0, "a number of slots");
  return count ? Result<std::optional<Sourced<int>>>(std::optional(Sourced<int>{*count, place})) : count.error();
}

Result<> read_nodes(PlatformFacts& facts, const Snapshot& snapshot) {
  const auto own = count_own_slots(snapshot);
  const auto all = count_all_slots(snapshot);
  if (!own || !all) {
    return own ? all.error() : own.error();
  }
  if (*own && (*own)->value > 0) {
    facts.slots = {std::to_string((*own)->value), (*own)->source};
  }
  const auto id = sourced_variable(snapshot, "DET_ALLOCATION_ID");
  if (!*own || !*all) {
    facts.no_nodes =
        Error{ErrorKind::BadEnvironment, id->source.name + " is '" + id->value +
                                             "', and how many containers it has only Determined's API says; "
                                             "give --nnodes"};
    return {};
  }
  const int each = std::max((*own)->value, 1);
  const int together = std::max((*all)->value, 1);
  if (together % each != 0) {
    return contradiction({std::to_string(together), (*all)->source}, *sourced_variable(snapshot, (*own)->source.name),
                         "all slots must be a multiple of those of one container");
  }
  facts.nodes = {together / each, part_of((*all)->source, " / " + (*own)->source.name)};
  return {};
}

Result<Sourced<int>> read_run(const Sourced<std::string>& text) {
  const auto run = parse_integer(text.value, 1, kMostNodes);
  if (!run) {
    return wrong_value(text, "the number of this run, from 1");
  }
  return Sourced<int>{*run - 1, text.source};
}

Result<PlatformFacts> read_determined(const Snapshot& snapshot) {
  PlatformFacts facts;
  if (auto read = read_nodes(facts, snapshot); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.master_address, snapshot, "DET_CHIEF_IP", read_address); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.restart_count, snapshot, "DET_TRIAL_RUN_ID", read_run); !read) {
    return read.error();
  }
  facts.job_id = sourced_variable(snapshot, "DET_ALLOCATION_ID");
  return facts;
}

}  // namespace

const Platform kDetermined = {
    .name = "determined",
    .signs = "DET_ALLOCATION_ID",
    .find_sign = [](const Snapshot& snapshot) { return first_set(snapshot, {"DET_ALLOCATION_ID"}); },
    .read = read_determined,
    .may_lack_rank = true};

}  // namespace muster
