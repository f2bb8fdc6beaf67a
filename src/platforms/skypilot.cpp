// SkyPilot: the `run` commands of a task run once on each node, and SKYPILOT_NODE_RANK counts nodes. RANK
// and WORLD_SIZE are not set.
// Source: docs.skypilot.co, "Distributed Multi-Node Jobs" and "SkyPilot environment variables".
#include "platforms/hosts.hpp"
#include "platforms/slots.hpp"

#include <array>

namespace muster {
namespace {

constexpr std::array<const char*, 2> kCounts = {"SKYPILOT_NUM_NODES", "SKYPILOT_NODE_IPS"};

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  return first_set(snapshot, {"SKYPILOT_NODE_RANK"});
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  PlatformFacts facts;
  if (auto read = read_into(facts.nodes, snapshot, "SKYPILOT_NUM_NODES", read_node_count); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.node_rank, snapshot, "SKYPILOT_NODE_RANK", read_node_rank);
      !read) {
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

const Platform kSkypilot = {"skypilot", "SKYPILOT_NODE_RANK", find_sign, read_platform, kCounts};

}  // namespace muster
