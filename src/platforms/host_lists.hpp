#pragma once

// Reads lists of hosts and slots in the forms of Slurm, MPI, PBS and LSF from their text alone (neither scontrol nor
// a name server is asked), and makes nodes of them.

#include "base/endpoint.hpp"
#include "platforms/platform.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// Host names, alone, in lists and with ports, as platforms write them.

using HostList = Sourced<std::vector<std::string>>;

/// Splits at blanks and line ends, including Unicode's; drops a byte order mark.
std::vector<std::string> words_of(std::string_view given);

/// Splits at commas, blanks and line ends; two commas have an empty text between them.
std::vector<std::string> listed_words(std::string_view text);

/// Reads "a,b,c" or "a b c", or a name on each line, as Volcano's svc plugin and others write it.
[[nodiscard]] Result<HostList> read_host_list(const Sourced<std::string>& text);

/// Names of the tasks whose host files Volcano mounts.
std::vector<std::string> volcano_tasks(const Snapshot& snapshot);

/// The host file that Volcano mounts for a task; empty when there is none.
[[nodiscard]] Result<std::optional<HostList>> read_host_file(const Snapshot& snapshot, const std::string& task);

/// Fails unless two lists of the same task are equal.
[[nodiscard]] Result<> check_same_hosts(const HostList& one, const HostList& other);

/// Takes the hosts of the whole job in the order of node ranks; the first one leads. Fails where the known number of
/// nodes or leader disagrees; unknown values are taken from the list.
[[nodiscard]] Result<> take_hosts(PlatformFacts& facts, const HostList& hosts);

/// Reads a variable with the leader's "host" or "host:port". Fails where it disagrees with a leader that is known
/// already. An empty value is ignored.
[[nodiscard]] Result<> read_meeting_point(PlatformFacts& facts, const Snapshot& snapshot, const std::string& name);

/// The beginning of a text that may be very long, for messages.
std::string shortened(const std::string& text);

/// A host, and the number of workers that the list gives it; empty: not in the list.
struct HostSlots {
  std::string host;
  std::optional<int> slots;
  std::string user{};         ///< login name; empty: not in the list
  std::optional<int> port{};  ///< of its sshd; empty: not in the list

  bool operator==(const HostSlots&) const = default;
};

/// Each host once, in the order in which the list names them first.
using SlotList = Sourced<std::vector<HostSlots>>;

/// The host names without slots.
HostList hosts_of(const SlotList& list);

/// Expands Slurm's compressed list: "n[1-3,07],m2-[0-1]". Keeps order and duplicates; several brackets are counted in
/// Slurm's order. A text after the last bracket is accepted, as by newer versions of Slurm.
[[nodiscard]] Result<HostList> read_slurm_list(const Sourced<std::string>& text);

/// Expands Slurm's "2(x3),1" to 2, 2, 2, 1, a number for each node.
[[nodiscard]] Result<Sourced<std::vector<int>>> read_tasks_per_node(const Sourced<std::string>& text);

/// Reads "a:8,b", or with blanks: hosts, with slots where a number follows. A host without a number has as many slots
/// as it is listed times.
[[nodiscard]] Result<SlotList> read_hosts_with_slots(const Sourced<std::string>& text);

/// Reads an MPI hostfile: a host on each line, "HOST slots=N max_slots=M username=U port=P" as Open MPI writes it or
/// "HOST:N" as MPICH does, with comments.
[[nodiscard]] Result<SlotList> read_hostfile(const Sourced<std::string>& text);

/// Reads a node file as PBS and LSF write it: a line for each slot, "HOST", or "HOST N" for N.
[[nodiscard]] Result<SlotList> read_node_file(const Sourced<std::string>& text);

/// Reads LSF's "hostA 8 hostB 4".
[[nodiscard]] Result<SlotList> read_host_pairs(const Sourced<std::string>& text);

/// The position of the only host that meets the condition; empty: none does, or several do.
template <typename Host, typename Condition>
std::optional<int> only_position(const std::vector<Host>& hosts, const Condition& is_it) {
  const auto first = std::ranges::find_if(hosts, is_it);
  const bool is_only = first != hosts.end() && std::find_if(first + 1, hosts.end(), is_it) == hosts.end();
  return is_only ? std::optional(static_cast<int>(first - hosts.begin())) : std::nullopt;
}

// A rule that batch systems share.

/// Takes MASTER_ADDR and MASTER_PORT where they are set, else this leader, and a port of the job's own.
[[nodiscard]] Result<> read_batch_leader(PlatformFacts& facts, const Sourced<std::string>& leader,
                                         const Snapshot& snapshot);

}  // namespace muster
