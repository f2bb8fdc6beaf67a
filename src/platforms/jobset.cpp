// JobSet: a pod of an Indexed Job of the set is a node. A set tells its pods nothing by itself; these are its
// labels, passed on by the downward API, and JOBSET_PODS_PER_JOB, which is no label: the completions of each
// Job, as the manifest has them. In a set the Jobs are numbered, and in each Job its pods. A manifest that passes on
// the numbers of a part, the replicated job or the group of this Job, means that part.
// Source: jobset.sigs.k8s.io, "Labels and annotations"; kubernetes.io, "Indexed Job".
#include "platforms/platform.hpp"
#include "platforms/restarts.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

/// Labels that count Jobs and number this one among them.
struct Part {
  const char* jobs;
  const char* job;
};

/// The smallest first.
constexpr std::array<Part, 3> kParts = {{{"JOBSET_REPLICATEDJOB_REPLICAS", "JOBSET_JOB_INDEX"},
                                         {"JOBSET_GROUP_REPLICAS", "JOBSET_JOB_GROUP_INDEX"},
                                         {"JOBSET_GLOBAL_REPLICAS", "JOBSET_JOB_GLOBAL_INDEX"}}};

constexpr std::array<const char*, 3> kCounts = {kParts[0].jobs, kParts[1].jobs, kParts[2].jobs};

struct Numbers {
  Part part;
  std::optional<Sourced<int>> jobs;  ///< in the part
  std::optional<Sourced<int>> job;   ///< which of them this pod is of
  std::optional<Sourced<int>> pods;  ///< in each Job
  std::optional<Sourced<int>> pod;   ///< which of them this is
};

/// The smallest part of which both the size and the place in it are passed on; else what there is of the set.
Part find_part(const Snapshot& snapshot) {
  const auto known = std::find_if(kParts.begin(), kParts.end(), [&](const Part& part) {
    return snapshot.has(part.jobs) && snapshot.has(part.job);
  });
  const auto counted = std::find_if(
      kParts.rbegin(), kParts.rend(), [&](const Part& part) { return snapshot.has(part.jobs); });
  return known != kParts.end() ? *known : counted != kParts.rend() ? *counted : kParts.back();
}

Result<Numbers> read_numbers(const Snapshot& snapshot) {
  Numbers numbers;
  numbers.part = find_part(snapshot);
  if (auto read = read_into(numbers.jobs, snapshot, numbers.part.jobs, read_node_count); !read) {
    return read.error();
  }
  if (auto read = read_into(numbers.job, snapshot, numbers.part.job, read_node_rank); !read) {
    return read.error();
  }
  if (auto read = read_into(numbers.pods, snapshot, "JOBSET_PODS_PER_JOB", read_node_count);
      !read) {
    return read.error();
  }
  if (auto read = read_into(numbers.pod, snapshot, "JOB_COMPLETION_INDEX", read_node_rank); !read) {
    return read.error();
  }
  return numbers;
}

Error unknown_pods(const Numbers& numbers) {
  return contradiction(
      *numbers.pod,
      *numbers.job,
      "with several pods in each Job of a set neither is a node's rank; say how many each has by "
      "JOBSET_PODS_PER_JOB, or give --nnodes and --node-rank");
}

/// Each Job has that many pods.
Result<> count_pods(PlatformFacts& facts, const Numbers& numbers) {
  const int pods = numbers.pods->value;
  const int pod = numbers.pod ? numbers.pod->value : 0;
  if (pod >= pods) {
    return contradiction(*numbers.pod, *numbers.pods, "an index must be below its count");
  }
  const std::string times = "*" + numbers.pods->source.name;
  facts.node_rank = {numbers.job->value * pods + pod,
                     part_of(numbers.job->source, times + "+JOB_COMPLETION_INDEX")};
  if (numbers.jobs) {
    const auto all = static_cast<long long>(numbers.jobs->value) * pods;
    if (all > kMostNodes) {
      return wrong_value({std::to_string(all), part_of(numbers.jobs->source, times)},
                         "at most " + std::to_string(kMostNodes) + " nodes");
    }
    facts.nodes = {static_cast<int>(all), part_of(numbers.jobs->source, times)};
  }
  return {};
}

/// A single Job may have any number of pods; several are taken to have one each.
Result<> read_nodes(PlatformFacts& facts, const Numbers& numbers) {
  if (!numbers.job) {
    if (numbers.jobs) {
      facts.no_nodes =
          Error{blame(numbers.jobs->source),
                numbers.jobs->source.name + " is '" + std::to_string(numbers.jobs->value) +
                    "', but " + numbers.part.job +
                    " is not set, which says beside it "
                    "which Job of the set this is; pass it on, or give --nnodes"};
    }
    facts.node_rank = numbers.pod;
    return {};
  }
  if (numbers.pods) {
    return count_pods(facts, numbers);
  }
  const bool is_only_job = numbers.jobs && numbers.jobs->value == 1;
  if (is_only_job || !numbers.pod || numbers.pod->value == 0) {
    facts.node_rank = is_only_job && numbers.pod ? numbers.pod : numbers.job;
    facts.nodes = is_only_job ? std::nullopt : numbers.jobs;
    return {};
  }
  facts.no_rank = unknown_pods(numbers);
  return {};
}

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  return first_set(snapshot,
                   {"JOBSET_GLOBAL_REPLICAS",
                    "JOBSET_JOB_GLOBAL_INDEX",
                    "JOBSET_REPLICATEDJOB_REPLICAS",
                    "JOBSET_GROUP_REPLICAS",
                    "JOBSET_COORDINATOR",
                    "JOBSET_NAME"});
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  PlatformFacts facts;
  const auto numbers = read_numbers(snapshot);
  if (!numbers) {
    return numbers.error();
  }
  if (auto read = read_nodes(facts, *numbers); !read) {
    return read.error();
  }
  for (const char* const name : {"JOBSET_COORDINATOR", "MASTER_ADDR"}) {  // the latter wins
    if (auto read = read_into(facts.master_address, snapshot, name, read_address); !read) {
      return read.error();
    }
  }
  if (auto read = read_into(facts.master_port, snapshot, "MASTER_PORT", read_port); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.restart_count, snapshot, "JOBSET_RESTART_ATTEMPT", read_restarts);
      !read) {
    return read.error();
  }
  facts.job_id = sourced_variable(snapshot, "JOBSET_NAME");
  return facts;
}

}  // namespace

const Platform kJobset = {"jobset", "JOBSET_*", find_sign, read_platform, kCounts};

}  // namespace muster
