// Tencent Cloud TI (TI-ONE): NODE_LIST is "host:gpus,..." of all nodes, INDEX this node's place in it. In
// DDP jobs RANK and WORLD_SIZE count nodes, too; GPU_NUM counts the GPUs of all nodes. MASTER_ADDR is the
// address of the first node, which NODE_LIST names.
// Source: Tencent Cloud, TI-ONE, "Distributed training".
#include "platforms/host_lists.hpp"
#include "platforms/slots.hpp"

#include "base/text.hpp"

#include <array>

namespace muster {
namespace {

constexpr std::array<const char*, 1> kCounts = {"NODE_LIST"};

/// A node without GPUs is written as "host:0", and is then one without a number.
Sourced<std::string> read_list(const Snapshot& snapshot) {
  const auto list = sourced_variable(snapshot, "NODE_LIST");
  std::vector<std::string> nodes = split(list->value, ',');
  for (std::string& node : nodes) {
    node = node.substr(0, node.ends_with(":0") ? node.size() - 2 : node.size());
  }
  return {join(nodes, ","), list->source};
}

Result<> read_nodes(PlatformFacts& facts, const Snapshot& snapshot) {
  if (auto read = read_torch_nodes(facts, snapshot); !read) {
    return read;
  }
  facts.node_rank.reset();
  return read_agreeing(facts.node_rank,
                       snapshot,
                       {"INDEX", "RANK"},
                       read_node_rank,
                       "both are the place of this node in NODE_LIST");
}

/// What the list says of this node must be what GPU_NUM_PER_NODE says.
Result<> read_slots(PlatformFacts& facts, const SlotList& list, const Snapshot& snapshot) {
  if (auto read = read_devices(facts, snapshot, "GPU_NUM_PER_NODE"); !read) {
    return read;
  }
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

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  const bool has_gpus = snapshot.has("GPU_NUM_PER_NODE") || snapshot.has("GPU_NUM");
  return has_gpus && snapshot.has("INDEX") ? first_set(snapshot, {"NODE_LIST"}) : std::nullopt;
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  PlatformFacts facts;
  if (auto read = read_nodes(facts, snapshot); !read) {
    return read.error();
  }
  const auto list = read_hosts_with_slots(read_list(snapshot));
  if (!list) {
    return list.error();
  }
  if (auto taken = take_hosts(facts, hosts_of(*list)); !taken) {
    return taken.error();
  }
  if (auto read = read_slots(facts, *list, snapshot); !read) {
    return read.error();
  }
  if (auto checked = check_all_devices(facts, snapshot, "GPU_NUM"); !checked) {
    return checked.error();
  }
  return facts;
}

}  // namespace

const Platform kTencentTi = {"tencent-ti",
                             "NODE_LIST beside INDEX and GPU_NUM_PER_NODE or GPU_NUM",
                             find_sign,
                             read_platform,
                             kCounts};

}  // namespace muster
