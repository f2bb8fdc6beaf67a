// ModelArts' old training jobs (API v1), and what was built after them: each container is a node.
// DLS_TASK_NUMBER counts them, BATCH_CUSTOM<i>_HOSTS is where container i can be met, as host:port.
// Source: Huawei Cloud, ModelArts, "Introduction to Custom Images", environment variables of containers.
#include "platforms/hosts.hpp"
#include "platforms/platform.hpp"

#include "base/endpoint.hpp"

#include <array>

namespace muster {
namespace {

constexpr std::array<const char*, 1> kCounts = {"DLS_TASK_NUMBER"};

std::string endpoint_variable(std::size_t index) {
  return "BATCH_CUSTOM" + std::to_string(index) + "_HOSTS";
}

/// All containers see all of them.
Result<> read_hosts(PlatformFacts& facts, const Snapshot& snapshot) {
  const auto nodes = static_cast<std::size_t>(facts.nodes->value);
  HostList hosts{{}, from_variable("BATCH_CUSTOM*_HOSTS")};
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto text = sourced_variable(snapshot, endpoint_variable(i));
    if (!text) {
      return {};
    }
    hosts.value.push_back(split_endpoint(text->value).host);
    if (auto checked = read_address({hosts.value.back(), text->source}); !checked) {
      return checked.error();
    }
  }
  if (const auto more = sourced_variable(snapshot, endpoint_variable(nodes))) {
    return contradiction({std::to_string(nodes), facts.nodes->source},
                         *more,
                         "one is the number of hosts that the others name");
  }
  facts.hosts = hosts;
  return {};
}

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  return first_set(snapshot, {"DLS_TASK_NUMBER"});
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  PlatformFacts facts;
  if (auto read = read_into(facts.nodes, snapshot, "DLS_TASK_NUMBER", read_node_count); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.node_rank, snapshot, "DLS_TASK_INDEX", read_node_rank); !read) {
    return read.error();
  }
  facts.job_id = sourced_variable(snapshot, "BATCH_JOB_ID");
  if (facts.nodes->value == 1) {
    return facts;
  }
  if (auto read = read_meeting_point(facts, snapshot, endpoint_variable(0)); !read) {
    return read.error();
  }
  if (auto read = read_hosts(facts, snapshot); !read) {
    return read.error();
  }
  return facts;
}

}  // namespace

const Platform kModelartsV1 = {
    "modelarts-v1", "DLS_TASK_NUMBER", find_sign, read_platform, kCounts};

}  // namespace muster
