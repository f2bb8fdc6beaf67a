#pragma once

// Binds the processes of a node to CPUs and memory nodes.

#include "base/result.hpp"
#include "environment/cpu_topology.hpp"
#include "environment/snapshot.hpp"
#include "options/settings.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Choice of CPUs for a process by its accelerator; docs/options.md explains each form. The names are torchrun's.
enum class NumaForm {
  Node,
  Socket,
  Exclusive,
  CoreComplex
};

/// The user's CPUs and memory for one process. Empty fields were not given.
struct GivenPlace {
  std::vector<int> cpus;
  std::vector<int> cpu_nodes;     ///< all CPUs of these NUMA nodes
  std::vector<int> memory_nodes;  ///< memory comes from these NUMA nodes only
};

/// The user's request for a binding.
struct BindingRequest {
  Source source;                                 ///< the options that ask for it
  std::optional<NumaForm> form;                  ///< for processes without given CPUs; empty: not bound
  bool binds_memory = false;                     ///< with a form: memory of its nodes only
  std::map<int, GivenPlace> devices;             ///< by the accelerator's number on this host
  std::map<std::string, GivenPlace> roles;       ///< for processes without an accelerator
  std::map<std::string, std::string> variables;  ///< set for every process
  std::string cpu_list_variable;                 ///< variable for a process's CPUs by the form, "[0, 1]"; empty: none
};

/// Binding of one process.
struct CpuBinding {
  std::vector<int> cpus;          ///< sorted; empty: the inherited ones
  std::vector<int> memory_nodes;  ///< sorted; empty: the node of first touch
  bool is_memory_strict = false;  ///< false: other nodes help out when these are full
  std::string how;                ///< the reason, for people
  std::map<std::string, std::string> variables;

  bool operator==(const CpuBinding&) const = default;
};

/// Processes of a node, one per accelerator.
struct BoundProcesses {
  /// By local rank: which of the accelerators that the runtime counts belongs to the process, as an index.
  std::vector<int> places;
  int least = 0;  ///< choose CPUs for at least this many accelerators: a later rank table may give them to processes
};

/// Gives accelerator i to process i.
BoundProcesses one_each(int workers);

/// Bindings of the processes of this node.
struct NodeBinding {
  /// By the accelerator's index among those that the runtime counts.
  std::vector<std::optional<CpuBinding>> devices;
  std::map<std::string, CpuBinding> roles;
  std::map<std::string, std::string> variables;
  std::vector<std::string> notices;
};

/// Decides the bindings of these processes; the visibility lists of the snapshot map the runtime's device numbers to
/// accelerators. Pure. Fails when the host lacks the requested hardware, or does not report a fact that the decision
/// needs.
[[nodiscard]] Result<NodeBinding> decide_binding(const BindingRequest& request, const Topology& topology,
                                                 const Snapshot& snapshot, const BoundProcesses& processes);

}  // namespace muster
