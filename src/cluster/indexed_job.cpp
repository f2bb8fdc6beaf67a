// Kubernetes' Indexed Job: each pod is a node, and JOB_COMPLETION_INDEX is its rank. How many there are
// no variable says: the user does (MUSTER_NNODES), or a JobSet whose labels the pod is given as JOBSET_*.
// A Job of that set has one pod, and is a node.
// Source: kubernetes.io, "Indexed Job for Parallel Processing with Static Work Assignment";
// jobset.sigs.k8s.io, "Labels and annotations".
#include "platform.hpp"

namespace muster {
namespace {

/// In a set the Jobs are numbered, not their pods: a Job of several pods has no place for the others.
Result<> read_set(Findings& findings, const Snapshot& snapshot) {
  std::optional<Sourced<int>> rank;
  if (auto read = read_into(rank, snapshot, "JOBSET_JOB_GLOBAL_INDEX", read_node_rank); !read) {
    return read;
  }
  if (const auto jobs = sourced_variable(snapshot, "JOBSET_GLOBAL_REPLICAS"); !rank && jobs) {
    findings.no_nodes = Error{blame(jobs->source),
                              jobs->source.name + " is '" + jobs->value +
                                  "', but JOBSET_JOB_GLOBAL_INDEX is not set, which says beside it "
                                  "which Job of the set this is; pass it on, or give --nnodes"};
  }
  if (!rank) {
    return {};
  }
  if (findings.node_rank && findings.node_rank->value > 0) {
    findings.no_rank = contradiction(*findings.node_rank,
                                     *rank,
                                     "with several pods in each Job of a set neither is a node's "
                                     "rank; give --nnodes and --node-rank");
    findings.node_rank.reset();
    return {};
  }
  findings.node_rank = rank;
  return read_into(findings.nodes, snapshot, "JOBSET_GLOBAL_REPLICAS", read_node_count);
}

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  return first_set(snapshot, {"JOB_COMPLETION_INDEX"});
}

Result<Findings> read_platform(const Snapshot& snapshot) {
  Findings findings;
  if (auto read = read_into(findings.node_rank, snapshot, "JOB_COMPLETION_INDEX", read_node_rank);
      !read) {
    return read.error();
  }
  if (auto read = read_set(findings, snapshot); !read) {
    return read.error();
  }
  for (const char* const name : {"JOBSET_COORDINATOR", "MASTER_ADDR"}) {  // the latter wins
    if (auto read = read_into(findings.master_address, snapshot, name, read_address); !read) {
      return read.error();
    }
  }
  if (auto read = read_into(findings.master_port, snapshot, "MASTER_PORT", read_port); !read) {
    return read.error();
  }
  findings.job_id = sourced_variable(snapshot, "JOBSET_NAME");
  return findings;
}

}  // namespace

const Platform kIndexedJob = {"indexed-job", "JOB_COMPLETION_INDEX", find_sign, read_platform};

}  // namespace muster
