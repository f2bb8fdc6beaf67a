#pragma once

// Lists of hosts and slots in the forms of Slurm, MPI, PBS and LSF, read from their text alone: nothing
// is asked, neither scontrol nor a name server. Private to cluster/. "a,b,c" is in hosts.hpp.

#include "platforms/hosts.hpp"

#include <optional>
#include <string>
#include <vector>

namespace muster {

/// A host, and how many workers the list gives it; empty where it does not say.
struct HostSlots {
  std::string host;
  std::optional<int> slots;
  std::string user{};         ///< who logs in there; empty: the list does not say
  std::optional<int> port{};  ///< of its sshd; likewise

  bool operator==(const HostSlots&) const = default;
};

/// Each host once, in the order in which the list names them first.
using SlotList = Sourced<std::vector<HostSlots>>;

/// The names alone.
[[nodiscard]] HostList hosts_of(const SlotList& list);

/// Slurm's compressed list: "n[1-3,07],m2-[0-1]". Order and duplicates stay, also the order in which
/// Slurm counts several brackets. A text after the last bracket is accepted, as by newer Slurms.
[[nodiscard]] Result<HostList> read_slurm_list(const Sourced<std::string>& text);

/// Slurm's "2(x3),1": 2, 2, 2, 1, a number for each node.
[[nodiscard]] Result<Sourced<std::vector<int>>> read_tasks_per_node(
    const Sourced<std::string>& text);

/// "a:8,b", or with blanks: a host each, and its slots where a number follows. A host that is listed
/// several times without a number has as many slots.
[[nodiscard]] Result<SlotList> read_hosts_with_slots(const Sourced<std::string>& text);

/// The text of an MPI hostfile: a host on each line, "HOST slots=N max_slots=M username=U port=P" as Open MPI
/// writes it or "HOST:N" as MPICH does, with comments.
[[nodiscard]] Result<SlotList> read_hostfile(const Sourced<std::string>& text);

/// The text of a node file as PBS and LSF write it: a line for each slot, "HOST", or "HOST N" for N.
[[nodiscard]] Result<SlotList> read_node_file(const Sourced<std::string>& text);

/// LSF's "hostA 8 hostB 4".
[[nodiscard]] Result<SlotList> read_host_pairs(const Sourced<std::string>& text);

}  // namespace muster
