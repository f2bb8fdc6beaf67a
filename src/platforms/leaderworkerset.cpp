// LeaderWorkerSet: a group of one leader and its workers is a job, and each of its pods a node. The
// leader has index 0. Neither RANK nor WORLD_SIZE is set; where an image has them they are nobody's.
// Source: kubernetes-sigs/lws, "Labels, Annotations and Environment Variables".
#include "platforms/platform.hpp"

#include <array>

namespace muster {
namespace {

constexpr std::array<const char*, 1> kCounts = {"LWS_GROUP_SIZE"};

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  return first_set(snapshot, {"LWS_GROUP_SIZE", "LWS_LEADER_ADDRESS"});
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  PlatformFacts facts;
  if (auto read = read_into(facts.nodes, snapshot, "LWS_GROUP_SIZE", read_node_count); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.node_rank, snapshot, "LWS_WORKER_INDEX", read_node_rank); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.master_address, snapshot, "LWS_LEADER_ADDRESS", read_address);
      !read) {
    return read.error();
  }
  return facts;
}

}  // namespace

const Platform kLeaderWorkerSet = {
    "leaderworkerset", "LWS_GROUP_SIZE or LWS_LEADER_ADDRESS", find_sign, read_platform, kCounts};

}  // namespace muster
