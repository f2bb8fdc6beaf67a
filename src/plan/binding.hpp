#pragma once

#include "base/result.hpp"
#include "environment/cpu_topology.hpp"
#include "environment/snapshot.hpp"
#include "options/settings.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Which CPUs a process gets for the accelerator that it stands for; docs/options.md tells what each
/// form means. The names are torchrun's.
enum class NumaForm {
  Node,
  Socket,
  Exclusive,
  CoreComplex
};

/// What the user writes down for one process. What is empty is not said.
struct GivenPlace {
  std::vector<int> cpus;
  std::vector<int> cpu_nodes;     ///< all CPUs of these NUMA nodes
  std::vector<int> memory_nodes;  ///< memory comes from these NUMA nodes and from no other
};

/// What the user asked for.
struct BindingRequest {
  Source source;                                 ///< the options that ask for it
  std::optional<NumaForm> form;                  ///< what is not given follows it; empty: is left alone
  bool binds_memory = false;                     ///< with a form: memory of the node and no other
  std::map<int, GivenPlace> devices;             ///< by the accelerator's number on this host
  std::map<std::string, GivenPlace> roles;       ///< of processes that stand for no accelerator
  std::map<std::string, std::string> variables;  ///< that every process is told
  std::string cpu_list_variable;                 ///< tells a process "[0, 1]", its CPUs by the form; empty: none does
};

/// How one process is bound.
struct CpuBinding {
  std::vector<int> cpus;          ///< sorted; empty: those that are inherited
  std::vector<int> memory_nodes;  ///< sorted; empty: memory is where it is first touched
  bool is_memory_strict = false;  ///< false: other nodes help out when these are full
  std::string how;                ///< why these, for people
  std::map<std::string, std::string> variables;

  bool operator==(const CpuBinding&) const = default;
};

/// The processes of a node that stand for one accelerator each.
struct BoundProcesses {
  /// By local rank: the place of its accelerator among those that the runtime counts.
  std::vector<int> places;
  int least = 0;  ///< places that are decided in any case: a rank table may name them later
};

/// Process i has accelerator i.
[[nodiscard]] BoundProcesses one_each(int workers);

/// How the processes of this node are bound.
struct NodeBinding {
  /// By the place of their accelerator among those that the runtime counts.
  std::vector<std::optional<CpuBinding>> devices;
  std::map<std::string, CpuBinding> roles;
  std::map<std::string, std::string> variables;
  std::vector<std::string> notices;
};

/// Decides it for these processes: the visibility lists of the snapshot say which accelerator the runtime
/// calls how. Pure. Fails when the host does not have what is asked for, or does not say what one must know.
[[nodiscard]] Result<NodeBinding> decide_binding(const BindingRequest& request, const Topology& topology,
                                                 const Snapshot& snapshot, const BoundProcesses& processes);

}  // namespace muster
