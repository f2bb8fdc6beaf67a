// SkyPilot: the `run` commands of a task run once on each node, and SKYPILOT_NODE_RANK counts nodes. RANK
// and WORLD_SIZE are not set.
// Source: docs.skypilot.co, "Distributed Multi-Node Jobs" and "SkyPilot environment variables".
#include "hosts.hpp"
#include "slots.hpp"

#include <array>

namespace muster {
namespace {

constexpr std::array<const char*, 2> kCounts = {"SKYPILOT_NUM_NODES", "SKYPILOT_NODE_IPS"};

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  return first_set(snapshot, {"SKYPILOT_NODE_RANK"});
}

Result<Findings> read_platform(const Snapshot& snapshot) {
  Findings findings;
  if (auto read = read_into(findings.nodes, snapshot, "SKYPILOT_NUM_NODES", read_node_count);
      !read) {
    return read.error();
  }
  if (auto read = read_into(findings.node_rank, snapshot, "SKYPILOT_NODE_RANK", read_node_rank);
      !read) {
    return read.error();
  }
  if (const auto listed = sourced_variable(snapshot, "SKYPILOT_NODE_IPS")) {
    const auto hosts = read_host_list(*listed);
    if (!hosts) {
      return hosts.error();
    }
    if (auto taken = take_hosts(findings, *hosts); !taken) {
      return taken.error();
    }
  }
  if (auto read = read_devices(findings, snapshot, "SKYPILOT_NUM_GPUS_PER_NODE"); !read) {
    return read.error();
  }
  findings.job_id = sourced_variable(snapshot, "SKYPILOT_TASK_ID");
  return findings;
}

}  // namespace

const Platform kSkypilot = {"skypilot", "SKYPILOT_NODE_RANK", find_sign, read_platform, kCounts};

}  // namespace muster
