// AWS Batch, multi-node parallel jobs: AWS_BATCH_JOB_NODE_INDEX counts nodes; RANK and WORLD_SIZE are not
// set. The main node leads, whichever index it has, and is the only one that is not told its address. The
// children of an array job (AWS_BATCH_JOB_ARRAY_INDEX) are jobs of their own, not nodes of one.
// Source: AWS Batch User Guide, "Environment variables" of multi-node parallel jobs, "Job environment
// variables" and "Job timeouts" (30 seconds from SIGTERM to SIGKILL).
#include "platforms/platform.hpp"

#include "base/text.hpp"

#include <array>

namespace muster {
namespace {

constexpr std::array<const char*, 1> kCounts = {"AWS_BATCH_JOB_NUM_NODES"};
constexpr const char* kMain = "AWS_BATCH_JOB_MAIN_NODE_INDEX";
constexpr std::chrono::seconds kGrace{30};

Result<Sourced<int>> read_attempt(const Sourced<std::string>& text) {
  const auto attempt = parse_integer(text.value, 1, kMostNodes);
  if (!attempt) {
    return wrong_value(text, "the number of this attempt, from 1");
  }
  return Sourced<int>{*attempt - 1, text.source};
}

/// The main node has rank 0; those before it move up by one.
Result<> read_rank(PlatformFacts& facts, const Snapshot& snapshot) {
  auto& rank = facts.node_rank;
  if (auto read = read_into(rank, snapshot, "AWS_BATCH_JOB_NODE_INDEX", read_node_rank); !read) {
    return read;
  }
  std::optional<Sourced<int>> main;
  if (auto read = read_into(main, snapshot, kMain, read_node_rank); !read) {
    return read;
  }
  if (main && facts.nodes && main->value >= facts.nodes->value) {
    return contradiction(*main, *facts.nodes, "an index must be below its count");
  }
  if (main && rank && rank->value <= main->value && main->value > 0) {
    rank = {rank->value == main->value ? 0 : rank->value + 1,
            part_of(rank->source, std::string(" and ") + kMain)};
  }
  return {};
}

Result<> read_leader(PlatformFacts& facts, const Snapshot& snapshot) {
  if (auto read = read_into(facts.master_address,
                            snapshot,
                            "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS",
                            read_address);
      !read) {
    return read;
  }
  if (!facts.master_address && facts.node_rank && facts.node_rank->value == 0) {
    facts.master_address = {snapshot.host_name, {SourceKind::File, "host name"}};
  }
  return {};
}

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  return first_set(snapshot, {"AWS_BATCH_JOB_NUM_NODES", "AWS_BATCH_JOB_NODE_INDEX"});
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  PlatformFacts facts;
  if (auto read = read_into(facts.nodes, snapshot, kCounts.front(), read_node_count); !read) {
    return read.error();
  }
  if (auto read = read_rank(facts, snapshot); !read) {
    return read.error();
  }
  if (auto read = read_leader(facts, snapshot); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.restart_count, snapshot, "AWS_BATCH_JOB_ATTEMPT", read_attempt);
      !read) {
    return read.error();
  }
  if (const auto job = sourced_variable(snapshot, "AWS_BATCH_JOB_ID")) {
    facts.job_id = {job->value.substr(0, job->value.find('#')), job->source};  // "<job>#<node>"
  }
  facts.grace = {kGrace, default_of("aws-batch")};
  return facts;
}

}  // namespace

const Platform kAwsBatch = {"aws-batch",
                            "AWS_BATCH_JOB_NUM_NODES or AWS_BATCH_JOB_NODE_INDEX",
                            find_sign,
                            read_platform,
                            kCounts};

}  // namespace muster
