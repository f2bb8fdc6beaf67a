// The four ways to choose CPUs near an accelerator, the same as torchrun's. Pure.
// Source: torch/numa/binding.py.
#include "plan/numa_forms.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace muster {
namespace {

using CpuGroups = std::vector<std::vector<int>>;

bool contains(const std::vector<int>& values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

std::string describe_nodes(const std::vector<int>& nodes) {
  return (nodes.size() == 1 ? "NUMA node " : "NUMA nodes ") + describe_ranges(nodes);
}

/// The CPUs by what they share, in the order of the groups' names.
CpuGroups group_by(const Topology& topology, const std::vector<int>& cpus, int CpuPlace::*group) {
  std::map<int, std::vector<int>> groups;
  for (const int cpu : cpus) {
    groups[topology.cpus.at(cpu).*group].push_back(cpu);
  }
  CpuGroups result;
  for (auto& [name, members] : groups) {
    result.push_back(std::move(members));
  }
  return result;
}

/// Who sits on the same NUMA nodes: how many, and how many of them before this one.
struct Neighbours {
  std::size_t count = 1;  ///< itself included
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

/// The cores in shares of equal size; the first ones take what is left over. There is at least one
/// neighbour: the locality itself.
std::vector<int> share_of_cores(const CpuGroups& cores, const Neighbours& neighbours) {
  const std::size_t each = cores.size() / neighbours.count;
  const std::size_t left_over = cores.size() % neighbours.count;
  const std::size_t first = neighbours.before * each + std::min(neighbours.before, left_over);
  const std::size_t last = first + each + (neighbours.before < left_over ? 1 : 0);
  std::vector<int> cpus;
  for (std::size_t i = first; i < last; ++i) {
    cpus.insert(cpus.end(), cores[i].begin(), cores[i].end());
  }
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

Result<std::vector<int>> exclusive_cpus(const Topology& topology,
                                        const std::vector<int>& cpus,
                                        const std::vector<int>& nodes,
                                        const Neighbours& neighbours,
                                        const Source& source) {
  const CpuGroups cores = group_by(topology, cpus, &CpuPlace::core);
  if (cores.size() < neighbours.count) {
    return Error{blame(source),
                 source.name + " wants cores of its own for each process, but there are " +
                     count_of(cores.size(), "core") + " for " + std::to_string(neighbours.count) +
                     " of them on " + describe_nodes(nodes)};
  }
  return share_of_cores(cores, neighbours);
}

/// Large core complexes first: where a cpuset cuts one, the whole ones are better.
std::vector<int> core_complex(const Topology& topology,
                              const std::vector<int>& cpus,
                              const Neighbours& neighbours) {
  CpuGroups complexes = group_by(topology, cpus, &CpuPlace::cache);
  std::stable_sort(complexes.begin(), complexes.end(), [](const auto& left, const auto& right) {
    return left.size() > right.size();
  });
  return complexes[neighbours.before % complexes.size()];
}

}  // namespace

std::vector<int> allowed_cpus_of(const Topology& topology, const std::vector<int>& nodes) {
  std::vector<int> cpus;
  for (const int cpu : topology.allowed_cpus) {
    if (contains(nodes, topology.cpus.at(cpu).numa_node)) {
      cpus.push_back(cpu);
    }
  }
  return cpus;
}

std::vector<int> nodes_of_form(NumaForm form,
                               const Topology& topology,
                               const std::vector<int>& nodes) {
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

Result<std::vector<int>> cpus_of_locality(NumaForm form,
                                          const Topology& topology,
                                          const std::vector<Locality>& localities,
                                          std::size_t locality,
                                          const Source& source) {
  const std::vector<int> nodes = nodes_of_form(form, topology, localities[locality].nodes);
  std::vector<int> cpus = allowed_cpus_of(topology, nodes);
  if (cpus.empty()) {
    return Error{blame(source),
                 source.name + " finds no CPU for " + localities[locality].name + ", which is on " +
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

const char* name_of(NumaForm form) {
  switch (form) {
    case NumaForm::Socket:
      return "socket";
    case NumaForm::Exclusive:
      return "exclusive";
    case NumaForm::CoreComplex:
      return "core-complex";
    case NumaForm::Node:
      break;
  }
  return "node";
}

}  // namespace muster
