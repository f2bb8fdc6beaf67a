#pragma once

// Processes on listed hosts, as the launchers mean it that go to other hosts by themselves. Private to compat/.

#include "base/text.hpp"
#include "compat/compat_launcher.hpp"
#include "platforms/given_hosts.hpp"

namespace muster {

/// Processes that one line may ask for.
inline constexpr int kMostProcesses = 10'000'000;

/// The number that an option gives, which has been checked; 1 where it cannot be read.
[[nodiscard]] inline int number_of(const Sourced<std::string>& count) {
  return parse_integer(count.value, 1, kMostProcesses).value_or(1);
}

/// One host of a list: "a" is one slot, "a:4" are four; "a:*" leaves them to the host.
struct ListedHost {
  std::string host;
  int slots = 1;
  bool is_open = false;  ///< the host itself says how many
};

/// A list of hosts, each host once, in the order in which they are named first.
struct HostList {
  std::vector<ListedHost> entries;
  Source source;
  std::string text{};  ///< as it is written, for messages
};

/// What a line says of processes and hosts.
struct HostPlacing {
  std::optional<Sourced<std::string>> all;           ///< processes of the job
  std::optional<Sourced<std::string>> per_node;      ///< processes of each node
  HostList hosts;                                    ///< empty: none are named
  std::optional<Sourced<std::string>> file;          ///< a hostfile that is read at the start
  std::optional<Sourced<std::string>> may_exceed{};  ///< the slots
};

/// Where the processes are to be.
enum class Placed {
  Here,
  OnNodes,  ///< muster runs on each of them already
  OnList
};

/// Reads "a,b:4" into `list`. Empty entries and hosts with 0 slots are left out, as by mpirun. Fails where a word is no host, naming it.
[[nodiscard]] Result<> add_hosts(HostList& list, const Sourced<std::string>& text);

/// The hosts of a hostfile's text; one without a number has `silent` slots, or with 0 what it has itself.
/// Fails where it is none.
[[nodiscard]] Result<HostList> hosts_of_file(const Sourced<std::string>& text, int silent);

/// The platform that starts muster on each node; none where the line says itself which platform it is.
[[nodiscard]] std::optional<Starter> find_starter(const Translation& t);

/// A list on the line is meant, unless it may be the platform's nodes, by their number: a script for all of them. Where
/// this host is none of the listed, as in the pod from which a platform's MPI example goes to the others by ssh, the list decides.
/// Fails where it contradicts the platform.
[[nodiscard]] Result<> settle_starter(Translation& t, const HostList& listed);
/// Settles the hosts that `choice` (kIncludedHosts, kExcludedHosts) leaves of a hostfile, which is read only where such a platform is
/// there.
[[nodiscard]] Result<> settle_starter(Translation& t, const Sourced<std::string>& file, const Settings& choice);

/// Settings for the processes: on the hosts of a list, unless somebody else says who runs where, or all are this machine.
/// Fails where this machine has not so many slots.
[[nodiscard]] Result<Placed> place_on_hosts(Translation& t, const HostPlacing& placing);

/// ssh with a port, and with an identity file, unless another remote shell is given. Empty: as it is.
void set_ssh(Translation& t, const std::optional<Sourced<std::string>>& port,
             const std::optional<Sourced<std::string>>& identity = std::nullopt);

}  // namespace muster
