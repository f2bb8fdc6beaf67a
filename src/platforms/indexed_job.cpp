// Kubernetes' Indexed Job: each pod is a node, and JOB_COMPLETION_INDEX is its rank. How many there are
// no variable of the Job says: the user does (MUSTER_NNODES), or one of the names that bare reads, too.
// Source: kubernetes.io, "Indexed Job for Parallel Processing with Static Work Assignment".
#include "platforms/platform.hpp"

namespace muster {
namespace {

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  return first_set(snapshot, {"JOB_COMPLETION_INDEX"});
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  PlatformFacts facts;
  if (auto read = read_into(facts.node_rank, snapshot, "JOB_COMPLETION_INDEX", read_node_rank);
      !read) {
    return read.error();
  }
  if (auto read = read_agreeing(facts.nodes,
                                snapshot,
                                {"NNODES", "NUM_NODES", "NODE_COUNT"},
                                read_node_count,
                                "both are the number of nodes");
      !read) {
    return read.error();
  }
  if (auto read = read_into(facts.master_address, snapshot, "MASTER_ADDR", read_address); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.master_port, snapshot, "MASTER_PORT", read_port); !read) {
    return read.error();
  }
  return facts;
}

}  // namespace

const Platform kIndexedJob = {"indexed-job", "JOB_COMPLETION_INDEX", find_sign, read_platform};

}  // namespace muster
