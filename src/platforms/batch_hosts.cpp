// Makes nodes of the hosts of a batch job.
#include "platforms/batch_hosts.hpp"

#include "platforms/ports.hpp"

#include "base/text.hpp"
#include "environment/accelerators.hpp"
#include "environment/own_host.hpp"

#include <algorithm>

namespace muster {
namespace {

template <typename Same>
std::optional<int> only_position(const SlotList& list, const Same& is_same) {
  const auto& hosts = list.value;
  const auto first = std::find_if(hosts.begin(), hosts.end(), is_same);
  const bool is_only =
      first != hosts.end() && std::find_if(first + 1, hosts.end(), is_same) == hosts.end();
  return is_only ? std::optional(static_cast<int>(first - hosts.begin())) : std::nullopt;
}

/// "PBS_NODEFILE lists 4 hosts, and this is ...".
Error runs_alone(const BatchHosts& hosts, const std::string& where) {
  return Error{ErrorKind::BadEnvironment,
               hosts.list.source.name + " lists " + std::to_string(hosts.list.value.size()) +
                   " hosts, and " + where + "; start muster on all of them by " + hosts.advice +
                   ", or give --nnodes 1 for this host alone"};
}

Result<> find_rank(PlatformFacts& facts, const BatchHosts& hosts, const Snapshot& snapshot) {
  const auto own = position_of(hosts.list, snapshot);
  const Sourced<int> by_name{own.value_or(0), part_of(hosts.list.source, " by the host's name")};
  if (hosts.started_on) {
    if (own && *own != hosts.started_on->value) {
      return contradiction(*hosts.started_on, by_name, "both say which of the hosts this is");
    }
    facts.node_rank = hosts.started_on;
  } else if (own && *own > 0) {
    facts.node_rank = by_name;
  } else {
    facts.no_rank =
        runs_alone(hosts,
                   own ? "this is the first, where the job's script runs alone"
                       : "this one, '" + snapshot.host_name + "', is none of them by its name");
  }
  return {};
}

}  // namespace

std::optional<int> position_of(const SlotList& list, const Snapshot& snapshot) {
  const auto exactly =
      only_position(list, [&](const HostSlots& entry) { return entry.host == snapshot.host_name; });
  return exactly ? exactly : only_position(list, [&](const HostSlots& entry) {
    return is_this_host(entry.host, snapshot);
  });
}

Result<> apply_batch_hosts(PlatformFacts& facts,
                           const BatchHosts& hosts,
                           const Snapshot& snapshot) {
  const auto& entries = hosts.list.value;
  facts.nodes = {static_cast<int>(entries.size()), hosts.list.source};
  if (entries.size() > 1) {
    if (auto found = find_rank(facts, hosts, snapshot); !found) {
      return found;
    }
    facts.hosts = hosts_of(hosts.list);
  }
  const int rank = entries.size() == 1 ? 0 : facts.node_rank.value_or(Sourced<int>{-1, {}}).value;
  const bool is_known = rank >= 0 && static_cast<std::size_t>(rank) < entries.size();
  const auto slots = is_known ? entries[static_cast<std::size_t>(rank)].slots : std::nullopt;
  const Sourced<std::string> listed{std::to_string(slots.value_or(1)), hosts.list.source};
  if (slots && count_visible_devices(snapshot) == 0) {
    facts.slots = listed;
  } else if (slots && *slots != count_visible_devices(snapshot)) {
    facts.lost.push_back({"nodes.slots", listed, "accelerators that are there count more"});
  }
  return read_batch_leader(facts, {entries.front().host, hosts.list.source}, snapshot);
}

Result<> read_batch_leader(PlatformFacts& facts,
                           const Sourced<std::string>& leader,
                           const Snapshot& snapshot) {
  if (auto read = read_into(facts.master_address, snapshot, "MASTER_ADDR", read_address); !read) {
    return read;
  }
  if (auto read = read_into(facts.master_port, snapshot, "MASTER_PORT", read_port); !read) {
    return read;
  }
  if (!facts.master_address) {
    facts.master_address = leader;
  }
  if (!facts.master_port && facts.job_id && facts.nodes->value > 1) {
    facts.master_port = {port_of_job(facts.job_id->value), facts.job_id->source};
  }
  return {};
}

}  // namespace muster
