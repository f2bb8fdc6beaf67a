#pragma once

// Reads the hosts that a user lists for muster to start agents on, and chooses among them.

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
  std::optional<int> slots;    ///< empty: not in the list
  std::vector<int> devices{};  ///< devices to use; empty: all
  bool is_here = false;        ///< this machine with the current user: no remote shell is needed
};

/// A list of hosts, and where it was read.
using GivenHosts = Sourced<std::vector<GivenHost>>;

/// Reads --hosts or --hostfile (the file too), in the order of the list; empty where neither is given. Fails for an
/// invalid list, naming the line, and for a host that is listed twice.
[[nodiscard]] Result<GivenHosts> read_given_hosts(const Settings& settings);

/// Settings by which DeepSpeed's launcher chooses among the hosts of its hostfile.
inline constexpr const char* kIncludedHosts = "include-hosts";
inline constexpr const char* kExcludedHosts = "exclude-hosts";

/// One host of such a choice, with its devices.
struct ChosenHost {
  std::string host;
  std::vector<int> devices;  ///< ascending, each once; empty: all
};

/// Reads "a@b:0,2": hosts in the order of their first mention, each with all its devices. Fails for other texts.
[[nodiscard]] Result<std::vector<ChosenHost>> read_host_choice(const Sourced<std::string>& text);

/// Applies the choice in the settings to a list, in its order. Fails for an inclusion together with an exclusion, and
/// for a host or a device that is not listed.
[[nodiscard]] Result<GivenHosts> choose_hosts(GivenHosts listed, const Settings& settings);

/// Settings for how mpirun's processes are distributed over listed hosts: how many in all, how many on each, whether
/// there may be more than slots, and whether mpirun distributes them itself.
inline constexpr const char* kProcessesOfHosts = "processes-of-hosts";
inline constexpr const char* kProcessesPerHost = "processes-per-host";
inline constexpr const char* kMayOversubscribe = "may-oversubscribe";
inline constexpr const char* kDealtByMpirun = "dealt-by-mpirun";

/// ", or --oversubscribe", to add behind a number of slots in a message; empty if the launcher has no such option.
std::string or_oversubscribe(const Settings& settings);

/// A platform that starts muster on each node of a job by itself.
struct Starter {
  std::string platform;
  std::string sign;  ///< the variable that reveals it
  int nodes = 0;     ///< on this many nodes
};

/// Error for a host list on the command line under such a platform; names the option that decides.
Error refuse_list(const Sourced<std::string>& list, const Starter& starter);

/// Empty: no such platform started this process.
std::optional<Starter> find_starter(const Snapshot& snapshot);

/// More slots than any machine has: a larger number is probably a port.
inline constexpr int kMostSlotsOfHost = 1024;

/// Describes the fault of the word "HOST" or "HOST:N" of a list, as a text behind "expected".
std::string expected_of_host(const std::string& word);

/// Reads --hosts: "a:8,b", "user@a", "[fd00::1]:8", "gpu[01-04]:8".
[[nodiscard]] Result<GivenHosts> read_hosts_option(const Sourced<std::string>& text);

/// Reads a hostfile as MPI, DeepSpeed and PBS write it.
[[nodiscard]] Result<GivenHosts> read_hosts_of_file(const Sourced<std::string>& text);

// Selects the hosts that get processes, where their number is given: mpirun's -np.

/// Distributes processes over the hosts by these settings: in the order of the list, each host filled before the next
/// one. Returns the hosts that got processes, with their number as slots. Fails for more processes than slots.
[[nodiscard]] Result<GivenHosts> fill_hosts(GivenHosts listed, const Settings& settings);

}  // namespace muster
