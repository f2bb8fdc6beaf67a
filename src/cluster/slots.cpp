// Slots of this node and of the job. Others are assumed to have as many as we have; how many they
// really have is known when all have met.
#include "slots.hpp"

#include <muster/base/text.hpp>
#include <muster/environment/accelerators.hpp>

#include <algorithm>

namespace muster {
namespace {

Result<Sourced<int>> read_device_count(const Sourced<std::string>& text) {
  constexpr int kMost = 65'536;
  const auto count = parse_integer(text.value, 0, kMost);
  if (!count) {
    return wrong_value(text, "a number of devices from 0 to " + std::to_string(kMost));
  }
  return Sourced<int>{*count, text.source};
}

Result<Sourced<int>> read_all_devices(const Sourced<std::string>& text) {
  const auto count = parse_integer(text.value, 0, kMostWorkers);
  if (!count) {
    return wrong_value(text, "a number of devices from 0 to " + std::to_string(kMostWorkers));
  }
  return Sourced<int>{*count, text.source};
}

/// Where nobody says how many workers a node has, the number of all must be dealt evenly.
Result<> check_shares(const Findings& findings,
                      const Sourced<int>& total,
                      const Sourced<int>& slots) {
  const long long together = static_cast<long long>(findings.nodes->value) * slots.value;
  if (slots.source.kind != SourceKind::Default || together == total.value) {
    return {};
  }
  return contradiction({std::to_string(total.value), total.source},
                       nodes_as_written(findings),
                       "they cannot have the same number each, and nothing says how many this has");
}

/// The number of workers that a platform gives, unless the user changes what its nodes have. All nodes go
/// by it, even where this one has just its share: another may have fewer or more.
std::optional<Sourced<int>> total_of_platform(const Findings& findings, const Sourced<int>& slots) {
  const bool is_changed =
      is_given(slots.source) || (findings.nodes && is_given(findings.nodes->source));
  return is_changed ? std::nullopt : findings.workers;
}

/// As many nodes as there may be; one if this node has all workers.
void take_nodes_from_total(Findings& findings, const Sourced<int>& total, int slots) {
  const bool is_single = total.value == slots;
  findings.nodes = {is_single ? 1 : std::min(total.value, kMostNodes), total.source};
  findings.least_nodes = 1;
  findings.are_nodes_of_total = true;
  if (is_single) {
    findings.node_rank = {0, total.source};  // whatever it was called: it has no others
  }
}

/// Nodes that are given have one worker each at least, and one node alone has them all.
Result<> check_nodes_of_total(const Findings& findings,
                              const Sourced<int>& total,
                              const Sourced<int>& slots) {
  const int least = findings.least_nodes.value_or(findings.nodes->value);
  if (least > total.value - slots.value + 1) {
    return contradiction(
        nodes_as_written(findings),
        {std::to_string(total.value), total.source},
        "each node has one worker at least, and this one has " + std::to_string(slots.value));
  }
  if (findings.nodes->value == 1 && slots.value != total.value) {
    return contradiction(slots, total, "one node has all workers of the job");
  }
  return {};
}

/// Several nodes that the user counts, and the platform their processes.
bool are_processes_shared(const Findings& findings) {
  if (!findings.processes || !findings.nodes || !is_given(findings.nodes->source)) {
    return false;
  }
  const int nodes = findings.nodes->value;
  const bool is_range = findings.least_nodes.value_or(nodes) != nodes;
  const bool counts_nodes = !findings.are_processes && findings.processes->value == nodes;
  return nodes > 1 && !is_range && !counts_nodes;
}

}  // namespace

Result<> read_devices(Findings& findings, const std::optional<Sourced<std::string>>& text) {
  std::optional<Sourced<int>> devices;
  if (auto read = read_into(devices, text, read_device_count); !read) {
    return read;
  }
  if (devices && devices->value > 0) {
    findings.slots = {std::to_string(devices->value), devices->source};
  }
  return {};
}

Result<> read_devices(Findings& findings, const Snapshot& snapshot, const std::string& name) {
  return read_devices(findings, sourced_variable(snapshot, name));
}

Result<Findings> read_torch_job(const Snapshot& snapshot, const std::string& job_id) {
  Findings findings;
  if (auto read = read_torch_nodes(findings, snapshot); !read) {
    return read.error();
  }
  if (auto read = read_devices(findings, snapshot, "NPROC_PER_NODE"); !read) {
    return read.error();
  }
  findings.job_id = sourced_variable(snapshot, job_id);
  return findings;
}

Result<> check_all_devices(const Findings& findings,
                           const Snapshot& snapshot,
                           const std::string& name) {
  std::optional<Sourced<int>> all;
  if (auto read = read_into(all, snapshot, name, read_all_devices); !read) {
    return read;
  }
  if (!all || !findings.nodes || !findings.slots) {
    return {};
  }
  const auto each = parse_integer(findings.slots->value, 1, kMostWorkers);
  const auto expected = static_cast<long long>(each.value_or(0)) * findings.nodes->value;
  if (!each || expected == all->value) {
    return {};
  }
  return contradiction(Sourced<std::string>{std::to_string(all->value), all->source},
                       *findings.slots,
                       "it counts the devices of all nodes, and " + findings.nodes->source.name +
                           " says that there are " + std::to_string(findings.nodes->value));
}

Sourced<std::string> nodes_as_written(const Findings& findings) {
  const int most = findings.nodes->value;
  const int least = findings.least_nodes.value_or(most);
  if (findings.workers && findings.workers->source == findings.nodes->source) {
    return {std::to_string(findings.workers->value), findings.workers->source};
  }
  return {(least < most ? std::to_string(least) + ":" : "") + std::to_string(most),
          findings.nodes->source};
}

Result<Sourced<int>> find_slots(const Findings& findings, const Snapshot& snapshot) {
  if (!findings.slots && are_processes_shared(findings)) {
    const Sourced<int>& all = *findings.processes;
    const int nodes = findings.nodes->value;
    return all.value % nodes == 0
               ? Result<Sourced<int>>(Sourced<int>{all.value / nodes, all.source})
               : contradiction(all,
                               *findings.nodes,
                               "the processes of all nodes must be a multiple of the nodes");
  }
  auto slots = count_slots(findings.slots.value_or(Sourced<std::string>{"auto", {}}), snapshot);
  const bool is_unknown = slots && slots->source.kind == SourceKind::Default && !findings.slots;
  if (!is_unknown || !findings.workers || !findings.nodes ||
      findings.workers->value % findings.nodes->value != 0) {
    return slots;
  }
  return Sourced<int>{findings.workers->value / findings.nodes->value, findings.workers->source};
}

std::string describe_crowd(const Sourced<int>& slots, const Snapshot& snapshot) {
  const int devices = count_visible_devices(snapshot);
  if (devices == 0 || slots.value <= devices || !is_given(slots.source)) {
    return {};
  }
  return slots.source.name + " is '" + std::to_string(slots.value) + "', and this node has " +
         count_of(static_cast<std::size_t>(devices), "device") +
         ": several workers share one, or have none";
}

Result<> apply_total(Findings& findings,
                     const std::optional<Sourced<int>>& given,
                     const Sourced<int>& slots) {
  const auto wanted = given ? given : total_of_platform(findings, slots);
  if (!wanted) {
    return {};
  }
  const Sourced<int>& total = *wanted;
  if (!given) {
    if (auto checked = check_shares(findings, total, slots); !checked) {
      return checked;
    }
  }
  if (slots.value > total.value) {
    return contradiction(slots, total, "one node has no more workers than the job");
  }
  findings.workers = total;
  findings.is_total_given = true;
  if (findings.nodes) {
    return check_nodes_of_total(findings, total, slots);
  }
  take_nodes_from_total(findings, total, slots.value);
  return {};
}

Result<> add_slots(Cluster& cluster, const Findings& findings, const Sourced<int>& slots) {
  if (!findings.is_total_given &&
      static_cast<long long>(cluster.job.most_nodes) * slots.value > kMostWorkers) {
    return contradiction(nodes_as_written(findings),
                         {std::to_string(slots.value), slots.source},
                         "together more workers than muster can count");
  }
  cluster.node.slots = slots.value;
  cluster.slots_from = slots.source;
  cluster.slots.assign(static_cast<std::size_t>(cluster.job.most_nodes), slots.value);
  cluster.decisions.push_back({"nodes.slots", std::to_string(slots.value), slots.source.name});
  if (cluster.job.most_nodes == 1) {
    return {};
  }
  cluster.decisions.push_back(
      {"nodes.slots of the others", std::to_string(slots.value), "assumed equal to ours"});
  if (findings.is_total_given) {
    cluster.job.total_slots = findings.workers->value;
    cluster.decisions.push_back(
        {"slots.total", std::to_string(findings.workers->value), findings.workers->source.name});
  }
  return {};
}

}  // namespace muster
