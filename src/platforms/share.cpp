// Reads what launchers say that start one process for each worker, and makes nodes of these.
#include "platforms/share.hpp"

#include "platforms/ports.hpp"

#include "base/text.hpp"

namespace muster {
namespace {

Result<Sourced<int>> read_local_size(const Sourced<std::string>& text) {
  const auto size = parse_integer(text.value, 1, kMostNodes);
  return size ? Result<Sourced<int>>(Sourced<int>{*size, text.source})
              : wrong_value(text, "a number of processes of at least 1");
}

Result<> check_share(const PlatformFacts& facts) {
  const HostShare& share = *facts.share;
  if (share.local_rank.value >= share.local_size.value) {
    return contradiction(share.local_rank, share.local_size, "a rank must be below its count");
  }
  if (share.local_size.value > facts.nodes->value) {
    return contradiction(
        share.local_size, *facts.nodes, "one host has no more processes than the job");
  }
  return {};
}

/// What the user counts must be these processes.
Result<> check_request(const PlatformFacts& facts, const ClusterRequest& request) {
  constexpr const char* kWhy =
      "each process that is started on a host is one worker already; leave the first out, or start "
      "one muster for each host";
  const Sourced<int>& here = facts.share->local_size;
  if (request.slots && request.slots->value != "1" && request.slots->value != "auto") {
    return contradiction(*request.slots, as_text(here), kWhy);
  }
  const bool is_same = !request.nodes || !facts.nodes ||
                       (request.nodes->value.most == facts.nodes->value &&
                        request.nodes->value.least == facts.nodes->value);
  if (!is_same) {
    return contradiction(
        Sourced<int>{request.nodes->value.most, request.nodes->source}, here, kWhy);
  }
  return {};
}

}  // namespace

Result<> read_tasks(PlatformFacts& facts, const Snapshot& snapshot, const TaskVariables& names) {
  std::optional<Sourced<int>> local_rank;
  std::optional<Sourced<int>> local_size;
  if (auto read = read_into(facts.nodes, snapshot, names.size, read_node_count); !read) {
    return read;
  }
  if (auto read = read_into(facts.node_rank, snapshot, names.rank, read_node_rank); !read) {
    return read;
  }
  if (auto read = read_into(local_rank, snapshot, names.local_rank, read_node_rank); !read) {
    return read;
  }
  if (auto read = read_into(local_size, snapshot, names.local_size, read_local_size); !read) {
    return read;
  }
  for (const char* const name : {names.size, names.rank, names.local_rank, names.local_size}) {
    if (!snapshot.has(name)) {
      return Error{ErrorKind::BadEnvironment,
                   std::string(names.size) + " or others of its launcher's are set, but " + name +
                       " is not: each process must know its rank in the job and on its host"};
    }
  }
  facts.share = HostShare{*local_rank, *local_size};
  facts.is_share_doubtful = local_size->value == 1;
  if (are_all_here(facts)) {
    facts.share->host_rank = 0;
    facts.share->hosts = 1;
  }
  return check_share(facts);
}

Result<> read_meeting_point(PlatformFacts& facts,
                            const Snapshot& snapshot,
                            const Sourced<std::string>& id,
                            const std::string& advice) {
  if (auto read = read_into(facts.master_address, snapshot, "MASTER_ADDR", read_address); !read) {
    return read;
  }
  if (auto read = read_into(facts.master_port, snapshot, "MASTER_PORT", read_port); !read) {
    return read;
  }
  if (!facts.master_address && are_all_here(facts)) {
    facts.master_address = {"127.0.0.1", facts.share->local_size.source};
  }
  if (!facts.master_address && facts.nodes) {
    facts.no_leader =
        Error{ErrorKind::BadEnvironment,
              facts.nodes->source.name + " is '" + std::to_string(facts.nodes->value) +
                  "' on several hosts, but nothing says on which of them rank 0 "
                  "is: " +
                  advice};
  }
  const bool is_shared = !id.value.empty() && facts.nodes && facts.nodes->value > 1;
  if (is_shared && !facts.master_port) {
    facts.master_port = {port_of_job(id.value), id.source};
  }
  if (is_shared && !facts.job_id) {
    facts.job_id = id;
  }
  return {};
}

bool are_all_here(const PlatformFacts& facts) {
  return facts.share && facts.nodes && facts.share->local_size.value == facts.nodes->value;
}

Result<> apply_share(PlatformFacts& facts, const ClusterRequest& request) {
  if (!facts.share) {
    return {};
  }
  const bool is_wanted_alone = request.nodes && request.nodes->value.most == 1;
  const bool is_one_wanted = request.slots && request.slots->value == "1";
  const bool is_only_one = facts.nodes && facts.nodes->value == 1;
  if (is_wanted_alone || is_only_one || (facts.is_share_doubtful && !is_one_wanted)) {
    facts.share.reset();
    return {};
  }
  if (auto checked = check_request(facts, request); !checked) {
    return checked;
  }
  if (facts.slots && facts.slots->value != "1") {
    facts.lost.push_back({"nodes.slots", *facts.slots, "each process is one worker already"});
  }
  facts.slots = {"1", facts.share->local_size.source};
  facts.workers.reset();
  return {};
}

Result<> check_share_of(const Platform& passed_over,
                        const Snapshot& snapshot,
                        const ClusterRequest& request) {
  auto facts = passed_over.read(snapshot);
  return facts ? apply_share(*facts, request) : Result<>();
}

void add_share(Cluster& cluster, const PlatformFacts& facts) {
  cluster.share = facts.share;
  cluster.job.are_tasks = facts.share.has_value();
  if (!facts.share) {
    return;
  }
  const HostShare& share = *facts.share;
  const auto decide = [&](const char* field, const Sourced<int>& number) {
    cluster.decisions.push_back({field, std::to_string(number.value), number.source.name});
  };
  decide("host.local_rank", share.local_rank);
  decide("host.local_size", share.local_size);
}

}  // namespace muster
