#pragma once

// Describes the agents that a remote launcher starts on other hosts: the order of each, which contains the whole job
// so that no part of it is on a command line, and the remote shell that starts it.

#include "base/control_lines.hpp"
#include "base/result.hpp"
#include "compat/command_line.hpp"
#include "plan/launch_plan.hpp"
#include "platforms/given_hosts.hpp"
#include "run/run_options.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct AgentOrder {
  std::string version;                           ///< of the launcher's muster
  std::string host;                              ///< the launcher's name for this node
  bool is_first = false;                         ///< the agent that reports for all nodes
  std::string nonce;                             ///< by which the launcher recognizes this agent's control lines
  std::string working_directory;                 ///< of the job
  std::map<std::string, std::string> variables;  ///< in addition to the host's own
  Terminals terminals;                           ///< of the launcher, which shows this agent's output
  CommandLine line;                              ///< the command, its options, and the rank of this node
};

/// Encodes the order as frames, the last of which is "start".
std::string write_order(const AgentOrder& order);

/// Adds what the next frame of an order says. True when it was the last one. Fails with `BadData` for an unexpected frame.
[[nodiscard]] Result<bool> add_frame(AgentOrder& order, const Frame& frame);

/// The option of an agent that gets its order on standard input. Users never type it, so it is in no table.
inline constexpr const char* kAgentOption = "--agent-of-front";

/// Placeholder for the host in a remote shell's words; without it, the host is the last word.
inline constexpr const char* kHostPlace = "{host}";

/// A command that runs its last argument, a shell command line, on a host: ssh or similar.
struct RemoteShell {
  std::vector<std::string> words;
  Source source{};  ///< origin of the setting
};

/// Reads --remote-shell, such as "ssh -p 2222". Fails for a text without words, or with open quotes.
[[nodiscard]] Result<RemoteShell> read_remote_shell(const Sourced<std::string>& text);

/// The default remote shells: ssh, and inside a Slurm allocation, srun.
RemoteShell plain_ssh();
RemoteShell slurms_srun();

/// The whole command line that runs `command` on the host. ssh gets options: it never asks for a password, and
/// notices when the host is gone. The user's own options override these.
std::vector<std::string> command_line_of(const RemoteShell& shell, const std::string& host, const std::string& command);

/// The command that starts an agent on another host, valid in any login shell: muster at the path that it has here,
/// or else the one in PATH.
std::string agent_command(const std::string& own_path);

// Forwarding of variables: a remote shell forwards none by itself.

/// Names that are forwarded unless the user says "none"; a final '*' matches any ending.
std::span<const std::string_view> usual_variables();

/// Reads --forward-env: "NAME,NAME*", with "none" in front to leave out the default ones. Fails for an invalid name.
[[nodiscard]] Result<std::vector<std::string>> read_forwarding(const std::optional<Sourced<std::string>>& given);

/// The variables that match these names. muster's own are excluded: the order has their values.
std::map<std::string, std::string> choose_variables(const std::map<std::string, std::string>& variables,
                                                    const std::vector<std::string>& names);

// Orders and plan for the agents of a job on other hosts.

/// The request to start agents on other hosts, from which the orders and the launcher's plan are made.
struct FanOut {
  Sourced<std::vector<GivenHost>> hosts;  ///< by node rank
  RemoteShell shell;
  std::string command;     ///< for the remote shell: starts an agent there
  std::string local_host;  ///< the launcher's host, which needs no ssh
  AgentOrder order;        ///< values that all nodes share
};

/// The order of one node, with its rank and its number of workers.
AgentOrder order_of(const FanOut& fan_out, std::size_t node);

/// The plan of the launcher: one process for each node, its remote shell.
LaunchPlan make_launcher_plan(const FanOut& fan_out);

}  // namespace muster
