#pragma once

// The hosts that a user lists for muster to start agents on.

#include "base/result.hpp"
#include "environment/snapshot.hpp"
#include "options/settings.hpp"

#include <optional>
#include <string>
#include <vector>

namespace muster {

struct GivenHost {
  std::string login;           ///< for the remote shell: "user@host", or the host
  std::string host;            ///< its name or address, without brackets
  std::optional<int> slots;    ///< empty: the list does not say
  std::vector<int> devices{};  ///< only these are used; empty: all
  bool is_here = false;        ///< this machine by its own user: it needs no remote shell
};

/// From --hosts or --hostfile, in the order of the list; empty where neither is given. Reads the file.
/// Fails for a list that is none, naming the line, and for a host that is listed twice.
[[nodiscard]] Result<Sourced<std::vector<GivenHost>>> read_given_hosts(const Settings& settings);

/// The settings by which DeepSpeed's launcher chooses among the hosts of its hostfile.
inline constexpr const char* kIncludedHosts = "include-hosts";
inline constexpr const char* kExcludedHosts = "exclude-hosts";

/// One host of such a choice, and which of its devices.
struct ChosenHost {
  std::string host;
  std::vector<int> devices;  ///< ascending, each once; empty: all
};

/// "a@b:0,2": hosts in the order in which they are named first, with all devices that are named of them. Fails for what is no choice.
[[nodiscard]] Result<std::vector<ChosenHost>> read_host_choice(const Sourced<std::string>& text);

/// Hosts that the choice in the settings leaves of a list, in its order. Fails for an inclusion beside an exclusion, and for a host
/// or a device that is not listed.
[[nodiscard]] Result<Sourced<std::vector<GivenHost>>> choose_hosts(Sourced<std::vector<GivenHost>> listed,
                                                                   const Settings& settings);

/// The settings by which mpirun's processes are dealt to the hosts of a list: how many in all, how many on each,
/// that there may be more than slots, and that mpirun deals them itself.
inline constexpr const char* kProcessesOfHosts = "processes-of-hosts";
inline constexpr const char* kProcessesPerHost = "processes-per-host";
inline constexpr const char* kMayOversubscribe = "may-oversubscribe";
inline constexpr const char* kDealtByMpirun = "dealt-by-mpirun";

/// ", or --oversubscribe" where the launcher has that option, behind a number of slots; else nothing.
[[nodiscard]] std::string or_oversubscribe(const Settings& settings);

/// A platform that starts muster on each node of a job by itself.
struct Starter {
  std::string platform;
  std::string sign;  ///< the variable that gives it away
  int nodes = 0;     ///< on so many
};

/// A list of hosts on the line and such a platform contradict each other, and the option that decides is named.
[[nodiscard]] Error refuse_list(const Sourced<std::string>& list, const Starter& starter);

/// Empty: nobody does.
[[nodiscard]] std::optional<Starter> find_starter(const Snapshot& snapshot);

/// More slots than any machine has: a port was meant.
inline constexpr int kMostSlotsOfHost = 1024;

/// The fault of a word "HOST" or "HOST:N" of a list, to be read behind "expected".
[[nodiscard]] std::string expected_of_host(const std::string& word);

/// The text of --hosts: "a:8,b", "user@a", "[fd00::1]:8", "gpu[01-04]:8".
[[nodiscard]] Result<Sourced<std::vector<GivenHost>>> read_hosts_option(const Sourced<std::string>& text);

/// The text of a hostfile as MPI, DeepSpeed and PBS write it.
[[nodiscard]] Result<Sourced<std::vector<GivenHost>>> read_hosts_of_file(const Sourced<std::string>& text);

// Which of the hosts of a list have processes, where their number is given: mpirun's -np.

/// The hosts that get processes, with their number as slots, by the settings kProcessesOfHosts and others: in
/// the order of the list, each filled before the next one. Fails for more processes than slots.
[[nodiscard]] Result<Sourced<std::vector<GivenHost>>> fill_hosts(Sourced<std::vector<GivenHost>> listed,
                                                                 const Settings& settings);

}  // namespace muster
