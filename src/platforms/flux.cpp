// Flux: what `flux run` or `flux submit` starts. FLUX_JOB_SIZE counts tasks. With one task a node each is an
// agent; with more each is a process that Flux has placed, as many on every node. Neither the hosts nor the number
// of tasks here is told, and FLUX_TASK_RANK need not be contiguous on a node. In a batch script, which
// runs on the first node alone, none of these is set.
// Source: flux-framework.readthedocs.io, flux-environment(7), flux-hostlist(1).
#include "platforms/share.hpp"

#include <array>

namespace muster {
namespace {

constexpr std::array<const char*, 2> kCounts = {"FLUX_JOB_NNODES", "FLUX_JOB_SIZE"};

constexpr const char* kAdvice =
    "name that host, by flux run --env=MASTER_ADDR=HOST (the job's first one is $(flux hostlist -l "
    "-n 0) "
    "where it has all nodes of its batch job) or --master-addr";

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  return snapshot.has("FLUX_JOB_ID") ? first_set(snapshot, {"FLUX_JOB_SIZE"}) : std::nullopt;
}

/// How many tasks this host has: as many as each.
Result<> read_share(PlatformFacts& facts, const Sourced<int>& hosts, const Snapshot& snapshot) {
  std::optional<Sourced<int>> local_rank;
  if (auto read = read_into(local_rank, snapshot, "FLUX_TASK_LOCAL_ID", read_node_rank);
      !read || !local_rank) {
    return read;
  }
  const int tasks = facts.nodes->value;
  const Sourced<int> here{tasks / hosts.value,
                          {hosts.source.kind, "FLUX_JOB_SIZE / FLUX_JOB_NNODES"}};
  if (tasks % hosts.value != 0 || local_rank->value >= here.value) {
    return contradiction(*facts.nodes,
                         hosts,
                         "how many tasks there are on each node is not told: start as many on "
                         "each, or one");
  }
  facts.share = HostShare{*local_rank, here};
  if (hosts.value == 1) {
    facts.share->host_rank = 0;
    facts.share->hosts = 1;
  }
  return {};
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  PlatformFacts facts;
  std::optional<Sourced<int>> hosts;
  if (auto read = read_into(facts.nodes, snapshot, "FLUX_JOB_SIZE", read_node_count); !read) {
    return read.error();
  }
  if (auto read = read_into(hosts, snapshot, "FLUX_JOB_NNODES", read_node_count); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.node_rank, snapshot, "FLUX_TASK_RANK", read_node_rank); !read) {
    return read.error();
  }
  if (hosts && hosts->value > facts.nodes->value) {
    return contradiction(*hosts, *facts.nodes, "each of these nodes has a task at least");
  }
  if (hosts && hosts->value < facts.nodes->value) {
    if (auto read = read_share(facts, *hosts, snapshot); !read) {
      return read.error();
    }
  }
  if (!hosts) {
    facts.no_nodes = Error{ErrorKind::BadEnvironment,
                           "FLUX_JOB_SIZE is set, but FLUX_JOB_NNODES is not: nothing says how "
                           "many of its tasks are on this host; give --nnodes"};
    facts.nodes.reset();
    return facts;
  }
  auto read =
      read_meeting_point(facts, snapshot, *sourced_variable(snapshot, "FLUX_JOB_ID"), kAdvice);
  return read ? Result<PlatformFacts>(std::move(facts)) : read.error();
}

}  // namespace

const Platform kFlux = {
    "flux", "FLUX_JOB_SIZE with FLUX_JOB_ID", find_sign, read_platform, kCounts};

}  // namespace muster
