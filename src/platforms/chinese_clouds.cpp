// Platform readers for Baidu AIHC, Alibaba PAI-DLC, Tencent TI, Volcengine and HAI.
//
// Baidu AIHC (Baige), PyTorch jobs: RANK and WORLD_SIZE count nodes, NPROC_PER_NODE the GPUs of each. Jobs
// of other kinds have AIHC_JOB_NAME, too, and are described by what they set: TF_CONFIG, or nothing.
// Source: Baidu Cloud, AIHC, "List of common environment variables".
#include "base/text.hpp"
#include "environment/local_host.hpp"
#include "platforms/host_lists.hpp"
#include "platforms/platform.hpp"
#include "platforms/slots.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace muster {

/// The variables of a PyTorch job in which NPROC_PER_NODE counts the devices of a node.
constexpr PlatformVariables torch_job(const char* job_id) {
  PlatformVariables variables = kTorchNodes;
  variables.devices = "NPROC_PER_NODE";
  variables.job_id = job_id;
  return variables;
}

const Platform kAihc = {.name = "aihc",
                        .sign_text = "AIHC_JOB_NAME with RANK or WORLD_SIZE",
                        .signs = {.any = {"AIHC_JOB_NAME"}, .with_any = {"RANK", "WORLD_SIZE"}},
                        .variables = torch_job("AIHC_JOB_NAME")};

// Alibaba Cloud PAI-DLC, PyTorch jobs: RANK and WORLD_SIZE count nodes, NPROC_PER_NODE the GPUs of each. None of
// these variables is specific to PAI, so another sign is needed: the job's variable, or the name of the master.
// Source: Alibaba Cloud, PAI, "Built-in environment variables" of DLC.

namespace {

std::optional<std::string> find_pai_dlc_sign(const Snapshot& snapshot) {
  if (!snapshot.has("NPROC_PER_NODE") || !snapshot.has("WORLD_SIZE")) {
    return std::nullopt;
  }
  const auto own = first_set(snapshot, {"DLC_JOB_ID", "PAI_JOB_ID", "PAI_WORKSPACE_ID"});
  const bool is_named = snapshot.variable("MASTER_ADDR").value_or("").starts_with("dlc");
  return own || !is_named ? own : std::optional<std::string>("MASTER_ADDR");
}

}  // namespace

const Platform kPaiDlc = {
    .name = "pai-dlc",
    .sign_text = "NPROC_PER_NODE with DLC_JOB_ID, PAI_JOB_ID, PAI_WORKSPACE_ID or a MASTER_ADDR that begins with dlc",
    .find_sign = find_pai_dlc_sign,
    .variables = torch_job("DLC_JOB_ID")};

// Tencent Cloud TI (TI-ONE): NODE_LIST is "host:gpus,..." of all nodes, INDEX this node's place in it. In
// DDP jobs RANK and WORLD_SIZE count nodes, too; GPU_NUM counts the GPUs of all nodes. MASTER_ADDR is the
// address of the first node, which NODE_LIST names.
// Source: Tencent Cloud, TI-ONE, "Distributed training".

namespace {

/// Reads the list. A node without GPUs is written as "host:0", and gets no number.
Sourced<std::string> read_list(const Snapshot& snapshot) {
  const auto list = sourced_variable(snapshot, "NODE_LIST");
  std::vector<std::string> nodes = split(list->value, ',');
  for (std::string& node : nodes) {
    node = node.substr(0, node.ends_with(":0") ? node.size() - 2 : node.size());
  }
  return {join(nodes, ","), list->source};
}

/// Checks this node's number in the list against GPU_NUM_PER_NODE.
Result<> read_slots(PlatformFacts& facts, const SlotList& list, const Snapshot& snapshot) {
  TRY(read_devices(facts, snapshot, "GPU_NUM_PER_NODE"));
  const auto& rank = facts.node_rank;
  if (!rank || static_cast<std::size_t>(rank->value) >= list.value.size()) {
    return {};
  }
  const HostSlots& own = list.value[static_cast<std::size_t>(rank->value)];
  if (!own.slots) {
    return {};
  }
  const Sourced<std::string> listed{std::to_string(*own.slots),
                                    part_of(list.source, "[" + std::to_string(rank->value) + "]")};
  if (facts.slots && facts.slots->value != listed.value) {
    return contradiction(*facts.slots, listed, "both count the GPUs of this node");
  }
  return facts.slots ? Result<>() : read_devices(facts, listed);
}

Result<> read_tencent_ti(PlatformFacts& facts, const Snapshot& snapshot) {
  facts.node_rank.reset();
  TRY(read_agreeing(facts.node_rank, snapshot, {"INDEX", "RANK"}, read_node_rank,
                    "both are the place of this node in NODE_LIST"));
  const auto list = TRY(read_hosts_with_slots(read_list(snapshot)));
  TRY(take_hosts(facts, hosts_of(list)));
  TRY(read_slots(facts, list, snapshot));
  return check_all_devices(facts, snapshot, "GPU_NUM");
}

}  // namespace

const Platform kTencentTi = {
    .name = "tencent-ti",
    .sign_text = "NODE_LIST with INDEX and GPU_NUM_PER_NODE or GPU_NUM",
    .signs = {.any = {"NODE_LIST"}, .with = {"INDEX"}, .with_any = {"GPU_NUM_PER_NODE", "GPU_NUM"}},
    .variables = kTorchNodes,
    .read = read_tencent_ti,
    .counts = {"NODE_LIST"}};

// Volcengine's machine learning platform, which is BytePlus' as well: MLP_ROLE_INDEX counts the nodes of a
// role from 0. The nodes of the roles CHIEF and WORKER train, in this order; servers, schedulers and
// evaluators do not. RANK and WORLD_SIZE are not set.
// Source: Volcengine, "List of common environment variables" of custom tasks; BytePlus, the same.

namespace {

/// The nodes of a role that trains.
struct Trainers {
  std::string role;
  Sourced<int> count;
  std::optional<Sourced<std::string>> hosts;  ///< "a,b,c"
};

/// "MLP_WORKER_NUM" for WORKER and "NUM".
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
    const auto count = TRY(read_node_count(*number));
    all.push_back({role, count, sourced_variable(snapshot, variable_of(role, "ALL_HOSTS"))});
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
    return wrong_value(as_text(*facts.nodes), "at most " + std::to_string(kMostNodes) + " nodes");
  }
  return {};
}

/// Error for a node of a role without training nodes, which has no rank.
Error without_rank(const Sourced<std::string>& role, const Snapshot& snapshot) {
  if (role.value != "CHIEF" && role.value != "WORKER") {
    return wrong_value(role, "CHIEF or WORKER, whose nodes train; give --platform single for what runs on the others");
  }
  const std::string name = variable_of(role.value, "NUM");
  if (const auto number = sourced_variable(snapshot, name)) {
    return contradiction(role, *number, "the role of a node has at least this node");
  }
  return Error{ErrorKind::BadEnvironment, role.source.name + " is '" + role.value + "', but " + name + " is not set"};
}

/// Computes the rank: the index counts within the role, and nodes of the earlier role come first.
Result<> read_rank(PlatformFacts& facts, const std::vector<Trainers>& all, const Snapshot& snapshot) {
  const auto role = sourced_variable(snapshot, "MLP_ROLE");
  const auto index = TRY(read_variable(snapshot, "MLP_ROLE_INDEX", read_node_rank));
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

/// Reads the leader. The agents need another port than TensorFlow's tasks, which listen on these.
Result<> read_leader(PlatformFacts& facts, const std::string& role, const Snapshot& snapshot) {
  TRY(read_into(facts.master_address, snapshot, variable_of(role, "0_HOST"), read_address));
  return snapshot.has("TF_CONFIG") ? Result<>()
                                   : read_into(facts.master_port, snapshot, variable_of(role, "0_PORT"), read_port);
}

/// Joins the lists of all roles, if every role has one.
Result<> read_hosts(PlatformFacts& facts, const std::vector<Trainers>& all) {
  const bool are_listed =
      !all.empty() && std::ranges::all_of(all, [](const auto& one) { return one.hosts && !one.hosts->value.empty(); });
  if (!are_listed) {
    return {};
  }
  Sourced<std::string> listed = *all.front().hosts;
  for (auto next = all.begin() + 1; next != all.end(); ++next) {
    listed = {listed.value + "," + next->hosts->value, part_of(listed.source, "+" + next->hosts->source.name)};
  }
  return take_hosts(facts, TRY(read_host_list(listed)));
}

Result<> read_volcengine(PlatformFacts& facts, const Snapshot& snapshot) {
  const auto all = TRY(read_trainers(snapshot));
  TRY(add_nodes(facts, all));
  TRY(read_rank(facts, all, snapshot));
  const std::string first = all.empty() ? "WORKER" : all.front().role;
  TRY(read_leader(facts, first, snapshot));
  TRY(read_hosts(facts, all));
  return read_devices(facts, snapshot, variable_of(snapshot.variable("MLP_ROLE").value_or(first), "GPU"));
}

}  // namespace

const Platform kVolcengine = {.name = "volcengine",
                              .signs = {.any = {"MLP_ROLE_INDEX", "MLP_WORKER_NUM"}},
                              .variables = {.job_id = "MLP_TASK_ID"},
                              .read = read_volcengine,
                              .counts = {"MLP_*_NUM", "MLP_*_ALL_HOSTS"}};

// HAI: RANK and WORLD_SIZE count nodes. Rank 0 sees MASTER_ADDR=localhost, which is no contradiction: MASTER_IP is
// the address that others can reach, and it wins. Old versions have no MARSV2_*. MASTER_IP is a common name, so it is
// a sign of HAI only together with all bare names.
// Source: HFAiLab/hai-platform, the environment of a training task.

namespace {

/// A rough check that separates addresses from names, without resolving.
bool is_address(const std::string& text) {
  return text.find(':') != std::string::npos ||
         std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0 || c == '.'; });
}

Result<> read_hai(PlatformFacts& facts, const Snapshot& snapshot) {
  const auto name = TRY(read_variable(snapshot, "MASTER_ADDR", read_address));
  TRY(read_into(facts.master_address, snapshot, "MASTER_IP", read_address));
  if (!facts.master_address) {
    facts.master_address = name;
    return {};
  }
  const std::string& address = facts.master_address->value;
  const bool can_differ = !name || is_loopback(name->value) || !is_address(name->value);
  if (!can_differ && is_address(address) && name->value != address) {
    return contradiction(*name, *facts.master_address, "both are the leader's address");
  }
  return {};
}

std::optional<std::string> find_hai_sign(const Snapshot& snapshot) {
  const auto first = snapshot.variables.lower_bound("MARSV2_");
  if (first != snapshot.variables.end() && first->first.starts_with("MARSV2_")) {
    return snapshot.has("MARSV2_RANK") ? "MARSV2_RANK" : first->first;
  }
  const bool has_bare_names = snapshot.has("RANK") && snapshot.has("WORLD_SIZE") && snapshot.has("MASTER_PORT");
  return has_bare_names ? first_set(snapshot, {"MASTER_IP"}) : std::nullopt;
}

}  // namespace

const Platform kHai = {.name = "hai",
                       .sign_text = "MARSV2_*, or MASTER_IP with the bare names",
                       .find_sign = find_hai_sign,
                       .variables = {.nodes = {"WORLD_SIZE"},
                                     .node_rank = {"RANK", "MARSV2_RANK"},
                                     .port = "MASTER_PORT",
                                     .job_id = "MARSV2_TASK_ID"},
                       .read = read_hai,
                       .usual_port = 2222,
                       .grace = std::chrono::seconds(0)};  // HAI deletes its pods without a SIGTERM

}  // namespace muster
