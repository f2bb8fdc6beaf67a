// Decides the CPUs and the memory nodes of each process on this node. Pure: whatever the topology lacks is an error
// here instead of a surprise in the worker.
#include "plan/binding.hpp"

#include "base/lists.hpp"
#include "base/text.hpp"
#include "plan/host_tasks.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

namespace muster {
namespace {

// The four ways to choose CPUs near an accelerator. Source: torchrun's torch/numa/binding.py.

using CpuGroups = std::vector<std::vector<int>>;

std::string describe_nodes(const std::vector<int>& nodes) {
  return (nodes.size() == 1 ? "NUMA node " : "NUMA nodes ") + describe_ranges(nodes);
}

/// Groups CPUs by a property of their place, in the order of the groups' numbers.
CpuGroups group_by(const Topology& topology, const std::vector<int>& cpus, int CpuPlace::*group) {
  std::map<int, std::vector<int>> groups;
  for (const int cpu : cpus) {
    groups[topology.cpus.at(cpu).*group].push_back(cpu);
  }
  return mapped(groups, [](const auto& one) { return one.second; });
}

/// Localities on the same NUMA nodes: their number, and the number before this one.
struct Neighbours {
  std::size_t count = 1;  ///< including this one
  std::size_t before = 0;
};

Neighbours neighbours_of(const std::vector<Locality>& localities, std::size_t locality) {
  Neighbours neighbours;
  for (std::size_t i = 0; i < localities.size(); ++i) {
    if (i != locality && localities[i].nodes == localities[locality].nodes) {
      ++neighbours.count;
      neighbours.before += i < locality ? 1U : 0U;
    }
  }
  return neighbours;
}

/// Divides the cores into shares of equal size; the first shares take the remainder. `count` is at least 1.
std::vector<int> share_of_cores(const CpuGroups& cores, const Neighbours& neighbours) {
  const std::size_t each = cores.size() / neighbours.count;
  const std::size_t left_over = cores.size() % neighbours.count;
  const std::size_t first = neighbours.before * each + std::min(neighbours.before, left_over);
  const std::size_t last = first + each + (neighbours.before < left_over ? 1 : 0);
  std::vector<int> cpus;
  for (std::size_t i = first; i < last; ++i) {
    cpus.insert(cpus.end(), cores[i].begin(), cores[i].end());
  }
  std::ranges::sort(cpus);
  return cpus;
}

Result<std::vector<int>> exclusive_cpus(const Topology& topology, const std::vector<int>& cpus,
                                        const std::vector<int>& nodes, const Neighbours& neighbours,
                                        const Source& source) {
  const CpuGroups cores = group_by(topology, cpus, &CpuPlace::core);
  if (cores.size() < neighbours.count) {
    return Error{error_kind(source), source.name + " wants cores of its own for each process, but the " +
                                         std::to_string(neighbours.count) + " processes on " + describe_nodes(nodes) +
                                         " have " + count_of(cores.size(), "core")};
  }
  return share_of_cores(cores, neighbours);
}

/// Prefers large core complexes: where a cpuset cuts one, a whole one is better.
std::vector<int> core_complex(const Topology& topology, const std::vector<int>& cpus, const Neighbours& neighbours) {
  CpuGroups complexes = group_by(topology, cpus, &CpuPlace::cache);
  std::ranges::stable_sort(complexes, [](const auto& left, const auto& right) { return left.size() > right.size(); });
  return complexes[neighbours.before % complexes.size()];
}

/// The CPUs of these NUMA nodes that this process may use, sorted.
std::vector<int> allowed_cpus_of(const Topology& topology, const std::vector<int>& nodes) {
  std::vector<int> cpus;
  for (const int cpu : topology.allowed_cpus) {
    if (contains(nodes, topology.cpus.at(cpu).numa_node)) {
      cpus.push_back(cpu);
    }
  }
  return cpus;
}

/// The NUMA nodes that a form adds to these, sorted: `socket` adds all nodes of their packages.
std::vector<int> nodes_of_form(NumaForm form, const Topology& topology, const std::vector<int>& nodes) {
  if (form != NumaForm::Socket) {
    return nodes;
  }
  std::set<int> packages;
  for (const auto& [cpu, place] : topology.cpus) {
    if (contains(nodes, place.numa_node)) {
      packages.insert(place.package);
    }
  }
  std::set<int> reached;
  for (const auto& [cpu, place] : topology.cpus) {
    if (packages.contains(place.package)) {
      reached.insert(place.numa_node);
    }
  }
  return {reached.begin(), reached.end()};
}

/// The CPUs of one locality among all of the node, sorted; errors name `source`.
Result<std::vector<int>> cpus_of_locality(NumaForm form, const Topology& topology,
                                          const std::vector<Locality>& localities, std::size_t locality,
                                          const Source& source) {
  const std::vector<int> nodes = nodes_of_form(form, topology, localities[locality].nodes);
  std::vector<int> cpus = allowed_cpus_of(topology, nodes);
  if (cpus.empty()) {
    return Error{error_kind(source), source.name + " finds no CPU for " + localities[locality].name + ", which is on " +
                                         describe_nodes(localities[locality].nodes) +
                                         ": this process may use only the CPUs " +
                                         describe_ranges(topology.allowed_cpus)};
  }
  const Neighbours neighbours = neighbours_of(localities, locality);
  switch (form) {
    case NumaForm::Node:
    case NumaForm::Socket:
      break;
    case NumaForm::Exclusive:
      return exclusive_cpus(topology, cpus, nodes, neighbours, source);
    case NumaForm::CoreComplex:
      return core_complex(topology, cpus, neighbours);
  }
  return cpus;
}

/// The words for each `NumaForm`.
constexpr std::array<const char*, 4> kNamesOfForms = {"node", "socket", "exclusive", "core-complex"};

// Decides by the request.

/// The inputs that all processes of a node share.
struct BindingUnit {
  const BindingRequest& request;
  const Topology& topology;
  const std::vector<Locality>& localities;
};

std::vector<int> missing_from(const std::vector<int>& there, const std::vector<int>& wanted) {
  std::vector<int> missing;
  std::set_difference(wanted.begin(), wanted.end(), there.begin(), there.end(), std::back_inserter(missing));
  return missing;
}

Error refused(const BindingUnit& unit, const std::string& why) {
  return Error{error_kind(unit.request.source), unit.request.source.name + " " + why};
}

/// The CPUs that the user gives to `who`; empty where only memory is given.
Result<std::vector<int>> given_cpus(const BindingUnit& unit, const GivenPlace& place, const std::string& who) {
  const std::vector<int>& allowed = unit.topology.allowed_cpus;
  if (const auto missing = missing_from(allowed, place.cpus); !missing.empty()) {
    return refused(unit, "gives " + who + " the CPUs " + describe_ranges(missing) + ", but this process may use only " +
                             describe_ranges(allowed));
  }
  if (!place.cpus.empty() || place.cpu_nodes.empty()) {
    return place.cpus;
  }
  for (const int node : place.cpu_nodes) {
    if (allowed_cpus_of(unit.topology, {node}).empty()) {
      return refused(
          unit, "gives " + who + " the NUMA node " + std::to_string(node) + ", of which this process may use no CPU");
    }
  }
  return allowed_cpus_of(unit.topology, place.cpu_nodes);
}

Result<> check_memory(const BindingUnit& unit, const std::vector<int>& nodes, const std::string& who) {
  const std::vector<int>& there = unit.topology.memory_nodes;
  const auto missing = missing_from(there, nodes);
  if (missing.empty()) {
    return {};
  }
  return refused(unit, "gives " + who + " the memory of NUMA node " + describe_ranges(missing) + ", but " +
                           (there.empty() ? "the NUMA nodes that this process may use are not known"
                                          : "this process may use only that of " + describe_ranges(there)));
}

/// Applies the user's CPUs and memory for one process, which replace those of the form.
Result<> add_given(CpuBinding& binding, const BindingUnit& unit, const GivenPlace& place, const std::string& who) {
  auto cpus = TRY(given_cpus(unit, place, who));
  TRY(check_memory(unit, place.memory_nodes, who));
  if (!cpus.empty()) {
    binding.cpus = std::move(cpus);
    binding.variables.clear();  // the form's CPU list no longer applies
  }
  if (!place.memory_nodes.empty()) {
    binding.memory_nodes = place.memory_nodes;
    binding.is_memory_strict = true;
  }
  binding.how = unit.request.source.name + ": " + who;
  return {};
}

/// Sets the memory nodes of a form. A single node is preferred; for several none is set, because the kernel's
/// default, the node of first touch, is best.
Result<> add_memory_of_form(CpuBinding& binding, const BindingUnit& unit, const Locality& locality) {
  const std::vector<int> nodes = nodes_of_form(*unit.request.form, unit.topology, locality.nodes);
  if (unit.request.binds_memory) {
    binding.memory_nodes = nodes;
    binding.is_memory_strict = true;
    return check_memory(unit, nodes, locality.name);
  }
  if (nodes.size() == 1 && missing_from(unit.topology.memory_nodes, nodes).empty()) {
    binding.memory_nodes = nodes;
  }
  return {};
}

Result<> add_form(CpuBinding& binding, const BindingUnit& unit, std::size_t place) {
  const Locality& locality = unit.localities[place];
  const BindingRequest& request = unit.request;
  if (!locality.unknown.empty()) {
    return refused(unit, "cannot be followed: " + locality.unknown);
  }
  binding.cpus = TRY(cpus_of_locality(*request.form, unit.topology, unit.localities, place, request.source));
  binding.how = request.source.name + ": " + kNamesOfForms.at(static_cast<std::size_t>(*request.form)) + ", " +
                locality.name + " on NUMA node " + describe_ranges(locality.nodes);
  if (!request.cpu_list_variable.empty()) {
    binding.variables[request.cpu_list_variable] =
        "[" + join(binding.cpus, ", ") + "]";  // as Python writes it, for MindSpore
  }
  return add_memory_of_form(binding, unit, locality);
}

/// `local_rank` is the process that has the accelerator; empty: unknown.
Result<std::optional<CpuBinding>> bind_device(const BindingUnit& unit, std::size_t place,
                                              std::optional<std::size_t> local_rank) {
  const BindingRequest& request = unit.request;
  const int device = unit.localities[place].device;
  const std::string who = "device" + std::to_string(device);
  const auto given = request.devices.find(device);
  const bool is_named = given != request.devices.end();
  if (!is_named && (!request.devices.empty() || !request.form)) {
    // Leaves an accelerator unbound that the request does not name; an error where it names others and a process has
    // this one.
    if (local_rank && !unit.request.devices.empty()) {
      return refused(unit, "says nothing of " + who + ", the accelerator of local rank " + std::to_string(*local_rank));
    }
    return std::optional<CpuBinding>();
  }
  CpuBinding binding;
  const bool is_all_given = is_named && !given->second.cpus.empty() && !given->second.memory_nodes.empty();
  if (request.form && !is_all_given) {
    TRY(add_form(binding, unit, place));
  }
  if (is_named) {
    TRY(add_given(binding, unit, given->second, who));
  }
  const bool is_bound = !binding.cpus.empty() || !binding.memory_nodes.empty();
  return is_bound ? std::optional(std::move(binding)) : std::nullopt;
}

std::map<std::string, std::vector<int>> given_by_name(const BindingRequest& request) {
  std::map<std::string, std::vector<int>> given;
  for (const auto& [device, place] : request.devices) {
    given["device" + std::to_string(device)] = place.cpus;
  }
  for (const auto& [role, place] : request.roles) {
    given[role] = place.cpus;
  }
  return given;
}

/// The CPUs that a process shares with an earlier one, by the name of the earlier one.
std::map<std::string, std::vector<int>> shared_with(std::map<int, std::string>& owners, const std::string& name,
                                                    const std::vector<int>& cpus) {
  std::map<std::string, std::vector<int>> shared;
  for (const int cpu : cpus) {
    const auto [owner, is_first] = owners.emplace(cpu, name);
    if (!is_first) {
      shared[owner->second].push_back(cpu);
    }
  }
  return shared;
}

/// Notices about CPUs that the user gives to two processes: allowed, but seldom meant.
std::vector<std::string> notices_on_overlaps(const BindingRequest& request) {
  std::map<int, std::string> owners;
  std::vector<std::string> notices;
  for (const auto& [name, cpus] : given_by_name(request)) {
    for (const auto& [other, both] : shared_with(owners, name, cpus)) {
      std::string notice = request.source.name + " gives the CPUs " + describe_ranges(both);
      notice += " to both " + other + " and ";
      notice += name;
      notices.push_back(std::move(notice));
    }
  }
  return notices;
}

std::vector<std::string> notices_on_form(const BindingUnit& unit, const Snapshot& snapshot) {
  std::vector<std::string> notices;
  if (!unit.request.form) {
    return notices;
  }
  if (std::string order = order_notice(unit.topology, snapshot); !order.empty()) {
    notices.push_back(std::move(order));
  }
  const auto assumed =
      std::ranges::find_if(unit.localities, [](const Locality& locality) { return locality.is_assumed; });
  if (assumed != unit.localities.end()) {
    notices.push_back("the kernel does not know on which NUMA node " + assumed->name +
                      " is (numa_node is -1): it counts as node 0");
  }
  return notices;
}

Result<> bind_roles(NodeBinding& node, const BindingUnit& unit) {
  for (const auto& [role, place] : unit.request.roles) {
    CpuBinding binding;
    TRY(add_given(binding, unit, place, role));
    if (!binding.cpus.empty() || !binding.memory_nodes.empty()) {
      node.roles[role] = std::move(binding);
    }
  }
  return {};
}

int count_places(const BoundProcesses& processes) {
  int count = processes.least;
  for (const int place : processes.places) {
    count = std::max(count, place + 1);
  }
  return count;
}

}  // namespace

BoundProcesses one_each(int workers) {
  std::vector<int> places(static_cast<std::size_t>(workers));
  std::iota(places.begin(), places.end(), 0);
  return {places};
}

Result<NodeBinding> decide_binding(const BindingRequest& request, const Topology& topology, const Snapshot& snapshot,
                                   const BoundProcesses& processes) {
  const int count = count_places(processes);
  const std::vector<Locality> localities = find_localities(topology, snapshot, count);
  const BindingUnit unit{request, topology, localities};
  NodeBinding node;
  node.variables = request.variables;
  for (int i = 0; i < count; ++i) {
    const auto& places = processes.places;
    const auto at = std::ranges::find(places, i);
    const auto local_rank =
        at == places.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - places.begin()));
    auto binding = TRY(bind_device(unit, static_cast<std::size_t>(i), local_rank));
    node.devices.push_back(std::move(binding));
  }
  TRY(bind_roles(node, unit));
  node.notices = notices_on_overlaps(request);
  for (std::string& notice : notices_on_form(unit, snapshot)) {
    node.notices.push_back(std::move(notice));
  }
  return node;
}

}  // namespace muster
