#pragma once

// Places processes on listed hosts, as launchers that start other hosts by themselves do. Private to compat/.

#include "base/text.hpp"
#include "compat/compat_launcher.hpp"
#include "platforms/given_hosts.hpp"

namespace muster {

/// Highest number of processes that a line may ask for.
inline constexpr int kMostProcesses = 10'000'000;

/// The value of a count option that has been checked; 1 if it cannot be read.
inline int number_of(const Sourced<std::string>& count) {
  return parse_integer(count.value, 1, kMostProcesses).value_or(1);
}

/// One host of a list: "a" has one slot, "a:4" has four; "a:*" leaves the number to the host.
struct ListedHost {
  std::string host;
  int slots = 1;
  bool is_open = false;  ///< the host itself knows its number of slots
};

/// A list of hosts, each host once, in the order of their first mention.
struct HostList {
  std::vector<ListedHost> entries;
  Source source;
  std::string text{};  ///< as the user wrote it, for messages
};

/// The processes and hosts of a command line.
struct HostPlacing {
  std::optional<Sourced<std::string>> all;           ///< processes of the job
  std::optional<Sourced<std::string>> per_node;      ///< processes of each node
  HostList hosts;                                    ///< empty: no host is named
  std::optional<Sourced<std::string>> file;          ///< a hostfile that is read at the start
  std::optional<Sourced<std::string>> may_exceed{};  ///< the option that allows more processes than slots
};

/// Result of the placement.
enum class Placed {
  Here,
  OnNodes,  ///< muster runs on each node already
  OnList
};

/// Reads "a,b:4" into `list`. Like mpirun, leaves out empty entries and hosts with 0 slots. Fails for a word that is
/// no host.
[[nodiscard]] Result<> add_hosts(HostList& list, const Sourced<std::string>& text);

/// Reads the text of a hostfile. A host without a number gets `silent` slots; 0: the host itself knows its number.
/// Fails if the text is no hostfile.
[[nodiscard]] Result<HostList> hosts_of_file(const Sourced<std::string>& text, int silent);

/// Turns a launcher's options that include or exclude hosts of a list into settings.
Settings choice_of_hosts(const std::optional<Sourced<std::string>>& included,
                         const std::optional<Sourced<std::string>>& excluded);

/// The hosts of a hostfile's text that `choice` leaves, up to the wanted number of nodes.
[[nodiscard]] Result<GivenHosts> read_chosen_hosts(const Translation& t, const Sourced<std::string>& text,
                                                   const Settings& choice);

/// The platform that starts muster on each node; empty if the line itself names its platform.
std::optional<Starter> find_starter(const Translation& t);

/// Decides whether the nodes are those of the list on the line or of the platform. If both have the same number, they
/// mean the same. Otherwise the list is used if this host is not in it, as in a platform's MPI example, whose pod
/// starts the others by ssh; it is an error if this host is in it.
[[nodiscard]] Result<> choose_node_source(Translation& t, const HostList& listed);
/// Decides likewise for the hosts of a hostfile that `choice` (kIncludedHosts, kExcludedHosts) leaves. Reads the
/// file only if a platform starts muster on each node.
[[nodiscard]] Result<> choose_node_source(Translation& t, const Sourced<std::string>& file, const Settings& choice);

/// Places the processes on the hosts of a list, unless the nodes are placed otherwise, or all hosts are this machine.
/// Fails if this machine has too few slots.
[[nodiscard]] Result<Placed> place_on_hosts(Translation& t, const HostPlacing& placing);

/// Sets the shell by which the hosts of a list are reached, unless the user gave one.
void set_remote_shell(Translation& t, Sourced<std::string> shell);
/// Sets ssh with the port and the identity file as that shell, unless both are missing.
void set_ssh(Translation& t, const std::optional<Sourced<std::string>>& port,
             const std::optional<Sourced<std::string>>& identity = std::nullopt);

}  // namespace muster
