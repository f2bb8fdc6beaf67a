#pragma once

// What an agent is told by the front that has started it: the whole job, so that nothing of it stands
// on a command line.

#include "base/result.hpp"
#include "compat/command_line.hpp"
#include "plan/launch_plan.hpp"
#include "platforms/given_hosts.hpp"
#include "remote/control_lines.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Which streams are terminals, and how many columns wide; 0: it does not say.
struct Terminals {
  std::optional<std::size_t> out;
  std::optional<std::size_t> error;
};

struct AgentOrder {
  std::string version;                           ///< of the front's muster
  std::string host;                              ///< how the front calls this node
  bool is_first = false;                         ///< it speaks for all nodes
  std::string nonce;                             ///< by which the front knows this agent's words
  std::string working_directory;                 ///< where the job runs
  std::map<std::string, std::string> variables;  ///< beside those that the host has
  Terminals terminals;                           ///< of the front, which shows what this agent writes
  CommandLine line;                              ///< what to run and how, and who this node is
};

/// As frames, the last of which is "start".
[[nodiscard]] std::string write_order(const AgentOrder& order);

/// Puts an order together again.
class OrderReader {
 public:
  /// True when the frame was the last one. Fails with `BadData` for a frame that an order has not.
  [[nodiscard]] Result<bool> take(const Frame& frame);
  [[nodiscard]] AgentOrder& order() { return order_; }

 private:
  AgentOrder order_;
};

// The command lines that reach other hosts.

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
[[nodiscard]] std::vector<std::string> command_line_of(const RemoteShell& shell, const std::string& host,
                                                       const std::string& command);

/// What starts an agent on another host, as a line for whatever shell a login has there: muster under the
/// path that it has here, else the one in PATH.
[[nodiscard]] std::string agent_command(const std::string& own_path);

// Which variables go along to other hosts. A remote shell takes none by itself.

/// Those that always do, unless the user says "none": names, and beginnings that end with '*'.
[[nodiscard]] std::span<const std::string_view> usual_variables();

/// Names of variables, read from --forward-env: "NAME,NAME*", with "none" in front instead of the
/// usual ones. Fails for what is no name.
[[nodiscard]] Result<std::vector<std::string>> read_forwarding(const std::optional<Sourced<std::string>>& given);

/// The variables that these names mean. muster's own are none of them: what they say is in the order.
[[nodiscard]] std::map<std::string, std::string> choose_variables(const std::map<std::string, std::string>& variables,
                                                                  const std::vector<std::string>& names);

// Who starts what where, when muster itself starts the agents of a job on other hosts.

/// All that the agents are made from.
struct FanOut {
  Sourced<std::vector<GivenHost>> hosts;  ///< by node rank
  RemoteShell shell;
  std::string command;     ///< for the remote shell: starts an agent there
  std::string local_host;  ///< where the front runs: ssh is not needed there
  AgentOrder order;        ///< but for what is a node's own
};

/// The order of one node: who it is, and how many workers it has.
[[nodiscard]] AgentOrder order_of(const FanOut& fan_out, std::size_t node);

/// The plan of the front: one process for each node, its remote shell.
[[nodiscard]] LaunchPlan make_front_plan(const FanOut& fan_out);

}  // namespace muster
