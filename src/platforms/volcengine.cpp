// Volcengine's machine learning platform, which is BytePlus' as well: MLP_ROLE_INDEX counts the nodes of a
// role from 0. The nodes of the roles CHIEF and WORKER train, in this order; servers, schedulers and
// evaluators do not. RANK and WORLD_SIZE are not set.
// Source: Volcengine, "List of common environment variables" of custom tasks; BytePlus, the same.
#include "platforms/hosts.hpp"
#include "platforms/slots.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

constexpr std::array<const char*, 2> kCounts = {"MLP_*_NUM", "MLP_*_ALL_HOSTS"};

/// The nodes of a role that trains, as far as it has any.
struct Trainers {
  std::string role;
  Sourced<int> count;
  std::optional<Sourced<std::string>> hosts;  ///< "a,b,c"
};

/// "MLP_WORKER_NUM" of WORKER and "NUM".
std::string variable_of(const std::string& role, const char* what) {
  return "MLP_" + role + "_" + what;
}

Result<std::vector<Trainers>> read_trainers(const Snapshot& snapshot) {
  std::vector<Trainers> all;
  for (const char* const role : {"CHIEF", "WORKER"}) {
    const auto number = sourced_variable(snapshot, variable_of(role, "NUM"));
    if (!number || number->value == "0") {
      continue;
    }
    const auto count = read_node_count(*number);
    if (!count) {
      return count.error();
    }
    all.push_back({role, *count, sourced_variable(snapshot, variable_of(role, "ALL_HOSTS"))});
  }
  return all;
}

Result<> add_nodes(PlatformFacts& facts, const std::vector<Trainers>& all) {
  for (const Trainers& trainers : all) {
    auto& nodes = facts.nodes;
    nodes = nodes ? Sourced<int>{nodes->value + trainers.count.value,
                                 part_of(nodes->source, "+" + trainers.count.source.name)}
                  : trainers.count;
  }
  if (facts.nodes && facts.nodes->value > kMostNodes) {
    return wrong_value({std::to_string(facts.nodes->value), facts.nodes->source},
                       "at most " + std::to_string(kMostNodes) + " nodes");
  }
  return {};
}

/// Why a node has no rank whose role has no nodes that train.
Error without_rank(const Sourced<std::string>& role, const Snapshot& snapshot) {
  if (role.value != "CHIEF" && role.value != "WORKER") {
    return wrong_value(role,
                       "CHIEF or WORKER, whose nodes train; give --platform single for what runs "
                       "on the others");
  }
  const std::string name = variable_of(role.value, "NUM");
  if (const auto number = sourced_variable(snapshot, name)) {
    return contradiction(role, *number, "a node's role has this node at least");
  }
  return Error{ErrorKind::BadEnvironment,
               role.source.name + " is '" + role.value + "', but " + name + " is not set"};
}

/// The index counts within the role: nodes of the one before it come first.
Result<> read_rank(PlatformFacts& facts,
                   const std::vector<Trainers>& all,
                   const Snapshot& snapshot) {
  const auto role = sourced_variable(snapshot, "MLP_ROLE");
  std::optional<Sourced<int>> index;
  if (auto read = read_into(index, snapshot, "MLP_ROLE_INDEX", read_node_rank); !read) {
    return read;
  }
  if (!role || !index) {
    facts.node_rank = index;
    return {};
  }
  int before = 0;
  for (const Trainers& trainers : all) {
    if (trainers.role != role->value) {
      before += trainers.count.value;
      continue;
    }
    if (index->value >= trainers.count.value) {
      return contradiction(*index, trainers.count, "an index must be below its count");
    }
    facts.node_rank = {before + index->value, index->source};
    return {};
  }
  facts.no_rank = without_rank(*role, snapshot);
  return {};
}

/// Where TensorFlow's tasks listen on these ports the agents need another one.
Result<> read_leader(PlatformFacts& facts, const std::string& role, const Snapshot& snapshot) {
  if (auto read =
          read_into(facts.master_address, snapshot, variable_of(role, "0_HOST"), read_address);
      !read || snapshot.has("TF_CONFIG")) {
    return read;
  }
  return read_into(facts.master_port, snapshot, variable_of(role, "0_PORT"), read_port);
}

/// A list of all nodes, if those of each role are listed.
Result<> read_hosts(PlatformFacts& facts, const std::vector<Trainers>& all) {
  const bool are_listed = !all.empty() && std::all_of(all.begin(), all.end(), [](const auto& one) {
    return one.hosts && !one.hosts->value.empty();
  });
  if (!are_listed) {
    return {};
  }
  Sourced<std::string> listed = *all.front().hosts;
  for (auto next = all.begin() + 1; next != all.end(); ++next) {
    listed = {listed.value + "," + next->hosts->value,
              part_of(listed.source, "+" + next->hosts->source.name)};
  }
  const auto hosts = read_host_list(listed);
  return hosts ? take_hosts(facts, *hosts) : hosts.error();
}

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  return first_set(snapshot, {"MLP_ROLE_INDEX", "MLP_WORKER_NUM"});
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  PlatformFacts facts;
  const auto all = read_trainers(snapshot);
  if (!all) {
    return all.error();
  }
  if (auto added = add_nodes(facts, *all); !added) {
    return added.error();
  }
  if (auto read = read_rank(facts, *all, snapshot); !read) {
    return read.error();
  }
  const std::string first = all->empty() ? "WORKER" : all->front().role;
  if (auto read = read_leader(facts, first, snapshot); !read) {
    return read.error();
  }
  if (auto read = read_hosts(facts, *all); !read) {
    return read.error();
  }
  const std::string own = snapshot.variable("MLP_ROLE").value_or(first);
  if (auto read = read_devices(facts, snapshot, variable_of(own, "GPU")); !read) {
    return read.error();
  }
  facts.job_id = sourced_variable(snapshot, "MLP_TASK_ID");
  return facts;
}

}  // namespace

const Platform kVolcengine = {
    "volcengine", "MLP_ROLE_INDEX or MLP_WORKER_NUM", find_sign, read_platform, kCounts};

}  // namespace muster
