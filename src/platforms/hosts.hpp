#pragma once

// Names of hosts, alone, in lists and with ports, as platforms write them. Private to cluster/.

#include "platforms/platform.hpp"

#include "base/endpoint.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

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
[[nodiscard]] Result<std::optional<HostList>> read_host_file(const Snapshot& snapshot,
                                                             const std::string& task);

/// Two lists of one task must be the same.
[[nodiscard]] Result<> check_same_hosts(const HostList& one, const HostList& other);

/// The hosts of the whole job in the order of node ranks, of which the first one leads. A number of nodes
/// and a leader that are known already must agree; what is not known is taken from the list.
[[nodiscard]] Result<> take_hosts(PlatformFacts& facts, const HostList& hosts);

/// A variable that says where the leader is as "host" or "host:port". What says the same already must say
/// the same place. An empty value says nothing.
[[nodiscard]] Result<> read_meeting_point(PlatformFacts& facts,
                                          const Snapshot& snapshot,
                                          const std::string& name);

/// A task's name as in VC_<TASK>_HOSTS.
[[nodiscard]] std::string task_in_variable(std::string task);

/// The beginning of a text that may be very long, for messages.
[[nodiscard]] std::string shortened(const std::string& text);

}  // namespace muster
