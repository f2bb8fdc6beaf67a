#pragma once

// Lists of hosts and slots in the forms of Slurm, MPI, PBS and LSF, read from their text alone: nothing
// is asked, neither scontrol nor a name server. "a,b,c" is in hosts.hpp.

#include "base/endpoint.hpp"
#include "platforms/platform.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// Names of hosts, alone, in lists and with ports, as platforms write them.

using HostList = Sourced<std::vector<std::string>>;

/// The words between blanks and line ends, those of Unicode too; a byte order mark before them goes.
[[nodiscard]] std::vector<std::string> words_of(std::string_view given);

/// What commas, blanks and line ends separate; two commas have an empty text between them.
[[nodiscard]] std::vector<std::string> listed_words(std::string_view text);

/// "a,b,c" or "a b c", or a name on each line, as Volcano's svc plugin and others write it.
[[nodiscard]] Result<HostList> read_host_list(const Sourced<std::string>& text);

/// The tasks whose host files Volcano mounts, by their names there.
[[nodiscard]] std::vector<std::string> volcano_tasks(const Snapshot& snapshot);

/// The host file that Volcano mounts for a task; empty when there is none.
[[nodiscard]] Result<std::optional<HostList>> read_host_file(const Snapshot& snapshot, const std::string& task);

/// Two lists of one task must be the same.
[[nodiscard]] Result<> check_same_hosts(const HostList& one, const HostList& other);

/// The hosts of the whole job in the order of node ranks, of which the first one leads. A number of nodes
/// and a leader that are known already must agree; what is not known is taken from the list.
[[nodiscard]] Result<> take_hosts(PlatformFacts& facts, const HostList& hosts);

/// A variable that says where the leader is as "host" or "host:port". What says the same already must say
/// the same place. An empty value says nothing.
[[nodiscard]] Result<> read_meeting_point(PlatformFacts& facts, const Snapshot& snapshot, const std::string& name);

/// A task's name as in VC_<TASK>_HOSTS.
[[nodiscard]] std::string task_in_variable(std::string task);

/// The beginning of a text that may be very long, for messages.
[[nodiscard]] std::string shortened(const std::string& text);

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
[[nodiscard]] Result<Sourced<std::vector<int>>> read_tasks_per_node(const Sourced<std::string>& text);

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

// What batch systems have in common: a leader and a port of the job's own; of PBS and LSF, a list of hosts with
// slots, and a script that runs on the first of them alone.

struct BatchHosts {
  SlotList list;
  std::optional<Sourced<int>> started_on;  ///< the number of this host, by what has started us
  std::string advice;                      ///< the line that starts muster on all of them
};

/// The place of this host in the list: by its very name, else by whatever means it. Empty where it is not there, or where
/// several entries may be meant.
[[nodiscard]] std::optional<int> position_of(const SlotList& list, const Snapshot& snapshot);

/// The hosts are the nodes, the first one leads. A host that is not the first one is known by its name; on
/// the first one only what has started us tells an agent from the script, which must not run alone.
/// Accelerators count more than the slots of the list, which stand for cores on many systems.
[[nodiscard]] Result<> apply_batch_hosts(PlatformFacts& facts, const BatchHosts& hosts, const Snapshot& snapshot);

/// MASTER_ADDR and MASTER_PORT where they are set, else this leader, and a port of the job's own.
[[nodiscard]] Result<> read_batch_leader(PlatformFacts& facts, const Sourced<std::string>& leader,
                                         const Snapshot& snapshot);

}  // namespace muster
