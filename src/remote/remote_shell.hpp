#pragma once

// The command lines that reach other hosts.

#include "base/result.hpp"
#include "base/source.hpp"

#include <optional>
#include <string>
#include <vector>

namespace muster {

/// The option of an agent that gets its order on standard input. Nobody types it, so it is in no table.
inline constexpr const char* kAgentOption = "--agent-of-front";

/// Stands in a remote shell's words for the host; where it does not, the host is the last word.
inline constexpr const char* kHostPlace = "{host}";

/// A command that executes its last argument, a line for a shell, on a host: ssh, and what is like it.
struct RemoteShell {
  std::vector<std::string> words;
  Source source{};  ///< who chose it
};

/// Reads --remote-shell, "ssh -p 2222". Fails for a text without a word, or with open quotes.
[[nodiscard]] Result<RemoteShell> read_remote_shell(const Sourced<std::string>& text);

/// Where nobody says anything: ssh, and inside an allocation of Slurm, srun.
[[nodiscard]] RemoteShell plain_ssh();
[[nodiscard]] RemoteShell slurms_srun();

/// The whole command line that executes `command` on the host. A remote shell that is ssh gets options: it asks
/// nobody for a password, and notices when the host is gone. The user's own ones are stronger.
[[nodiscard]] std::vector<std::string> command_line_of(const RemoteShell& shell,
                                                       const std::string& host,
                                                       const std::string& command);

/// What starts an agent on another host, as a line for whatever shell a login has there: muster under the
/// path that it has here, else the one in PATH.
[[nodiscard]] std::string agent_command(const std::string& own_path);

}  // namespace muster
