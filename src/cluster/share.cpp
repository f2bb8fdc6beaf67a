// Reads what launchers say that start one process for each worker, and makes nodes of these.
#include "share.hpp"

#include "ports.hpp"

#include <muster/base/text.hpp>

namespace muster {
namespace {

Result<Sourced<int>> read_local_size(const Sourced<std::string>& text) {
  const auto size = parse_integer(text.value, 1, kMostNodes);
  return size ? Result<Sourced<int>>(Sourced<int>{*size, text.source})
              : wrong_value(text, "a number of processes of at least 1");
}

Result<> check_share(const Findings& findings) {
  const HostShare& share = *findings.share;
  if (share.local_rank.value >= share.local_size.value) {
    return contradiction(share.local_rank, share.local_size, "a rank must be below its count");
  }
  if (share.local_size.value > findings.nodes->value) {
    return contradiction(
        share.local_size, *findings.nodes, "one host has no more processes than the job");
  }
  return {};
}

/// What the user counts must be these processes.
Result<> check_request(const Findings& findings, const ClusterRequest& request) {
  constexpr const char* kWhy =
      "each process that is started on a host is one worker already; leave the first out, or start "
      "one muster for each host";
  const Sourced<int>& here = findings.share->local_size;
  if (request.slots && request.slots->value != "1" && request.slots->value != "auto") {
    return contradiction(*request.slots, as_text(here), kWhy);
  }
  const bool is_same = !request.nodes || !findings.nodes ||
                       (request.nodes->value.most == findings.nodes->value &&
                        request.nodes->value.least == findings.nodes->value);
  if (!is_same) {
    return contradiction(
        Sourced<int>{request.nodes->value.most, request.nodes->source}, here, kWhy);
  }
  return {};
}

}  // namespace

Result<> read_tasks(Findings& findings, const Snapshot& snapshot, const TaskVariables& names) {
  std::optional<Sourced<int>> local_rank;
  std::optional<Sourced<int>> local_size;
  if (auto read = read_into(findings.nodes, snapshot, names.size, read_node_count); !read) {
    return read;
  }
  if (auto read = read_into(findings.node_rank, snapshot, names.rank, read_node_rank); !read) {
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
  findings.share = HostShare{*local_rank, *local_size};
  findings.is_share_doubtful = local_size->value == 1;
  if (are_all_here(findings)) {
    findings.share->host_rank = 0;
    findings.share->hosts = 1;
  }
  return check_share(findings);
}

Result<> read_meeting_point(Findings& findings,
                            const Snapshot& snapshot,
                            const Sourced<std::string>& id,
                            const std::string& advice) {
  if (auto read = read_into(findings.master_address, snapshot, "MASTER_ADDR", read_address);
      !read) {
    return read;
  }
  if (auto read = read_into(findings.master_port, snapshot, "MASTER_PORT", read_port); !read) {
    return read;
  }
  if (!findings.master_address && are_all_here(findings)) {
    findings.master_address = {"127.0.0.1", findings.share->local_size.source};
  }
  if (!findings.master_address && findings.nodes) {
    findings.no_leader =
        Error{ErrorKind::BadEnvironment,
              findings.nodes->source.name + " is '" + std::to_string(findings.nodes->value) +
                  "' on several hosts, but nothing says on which of them rank 0 "
                  "is: " +
                  advice};
  }
  const bool is_shared = !id.value.empty() && findings.nodes && findings.nodes->value > 1;
  if (is_shared && !findings.master_port) {
    findings.master_port = {port_of_job(id.value), id.source};
  }
  if (is_shared && !findings.job_id) {
    findings.job_id = id;
  }
  return {};
}

bool are_all_here(const Findings& findings) {
  return findings.share && findings.nodes &&
         findings.share->local_size.value == findings.nodes->value;
}

Result<> apply_share(Findings& findings, const ClusterRequest& request) {
  if (!findings.share) {
    return {};
  }
  const bool is_wanted_alone = request.nodes && request.nodes->value.most == 1;
  const bool is_one_wanted = request.slots && request.slots->value == "1";
  const bool is_only_one = findings.nodes && findings.nodes->value == 1;
  if (is_wanted_alone || is_only_one || (findings.is_share_doubtful && !is_one_wanted)) {
    findings.share.reset();
    return {};
  }
  if (auto checked = check_request(findings, request); !checked) {
    return checked;
  }
  if (findings.slots && findings.slots->value != "1") {
    findings.lost.push_back({"nodes.slots", *findings.slots, "each process is one worker already"});
  }
  findings.slots = {"1", findings.share->local_size.source};
  findings.workers.reset();
  return {};
}

Result<> check_share_of(const Platform& passed_over,
                        const Snapshot& snapshot,
                        const ClusterRequest& request) {
  auto findings = passed_over.read(snapshot);
  return findings ? apply_share(*findings, request) : Result<>();
}

void add_share(Cluster& cluster, const Findings& findings) {
  cluster.share = findings.share;
  cluster.job.are_tasks = findings.share.has_value();
  if (!findings.share) {
    return;
  }
  const HostShare& share = *findings.share;
  const auto decide = [&](const char* field, const Sourced<int>& number) {
    cluster.decisions.push_back({field, std::to_string(number.value), number.source.name});
  };
  decide("host.local_rank", share.local_rank);
  decide("host.local_size", share.local_size);
}

}  // namespace muster
