#pragma once

// Decides what the remote launcher does when something happens to its agents. As the supervisor, it holds no pid,
// opens nothing and never reads a clock.

#include "base/control_lines.hpp"
#include "base/result.hpp"
#include "supervise/exit_status.hpp"
#include "supervise/job_end.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace muster {

/// Actions. Nodes are numbered as in the list of hosts.
struct NotifyNodes {
  Frame frame;  ///< to every node whose remote shell runs
};
/// End the remote shells of nodes whose agent has not started: no agent there could end itself.
struct EndShells {
  std::vector<std::size_t> nodes;
};
/// Start the grace in which agents must end. A second grace replaces the first one if it is shorter.
struct StartLauncherGrace {
  bool is_short = false;    ///< the agents were told to end at once
  bool is_failure = false;  ///< the launcher itself ends the nodes, and has not said why yet
  bool is_of_all = false;   ///< no agent has come: only remote shells are ended
};
/// A repeated request to end changes nothing: say how much of the grace is left.
struct TellLauncherGrace {};
/// The first agent has ended with the job, so the others do at about the same time. Soon name those that have not.
struct WatchLateNodes {};
struct KillShells {};
struct FinishLauncher {};

using LauncherAction = std::variant<NotifyNodes, EndShells, StartLauncherGrace, TellLauncherGrace, WatchLateNodes,
                                    KillShells, FinishLauncher>;
using LauncherActions = std::vector<LauncherAction>;

/// The agents form one gang: whatever happens on a node, they end together and with one code. The launcher decides
/// only about a node that never starts, or is lost without a message: it tells the others to end.
class LauncherState {
 public:
  /// `hosts`: the names of the nodes.
  explicit LauncherState(std::vector<std::string> hosts);

  // Events. Before the end of a node is reported, all its output has been read.
  void on_here(std::size_t node) { nodes_[node].has_come = true; }
  void on_bye(std::size_t node, int exit_code) { nodes_[node].bye = exit_code; }
  /// The node's remote shell has ended. `last_line` is the last line of its standard error.
  LauncherActions on_ended(std::size_t node, const ExitStatus& status, const std::string& last_line);
  /// The node's remote shell could not be started.
  LauncherActions on_not_started(std::size_t node, const Error& why);
  /// The nodes were to come by now. Where an agent has come, the gang waits for the others, and ends by itself.
  LauncherActions on_start_timeout();
  /// A signal asks for the end of the job.
  LauncherActions on_stop(int signal);
  LauncherActions on_grace_ended();
  LauncherActions on_guard_lost();

  bool has_come(std::size_t node) const { return nodes_[node].has_come; }
  /// Names nodes whose agent has not come, at most eight; empty: all have.
  std::string describe_missing() const;
  /// Names nodes whose agent has come and has not ended, likewise.
  std::string describe_late() const;
  /// The agents are to end, or do so by themselves.
  bool is_ending() const { return is_ending_; }
  bool is_alive(std::size_t node) const { return !nodes_[node].has_ended; }
  /// Reason for which the launcher ended the job; empty: the agents ended it, and report why.
  const std::optional<JobEnd>& end() const { return end_; }
  int exit_code() const;

 private:
  struct Node {
    std::string host{};
    bool has_come = false;
    bool has_ended = false;
    std::optional<int> bye{};
  };

  LauncherActions fail(JobEnd end);
  bool has_stopped_unasked() const;
  /// An agent has ended with the job: gives the others a grace to end, too.
  LauncherActions on_orderly_exit();
  LauncherActions after_an_end(LauncherActions actions);
  std::string name_of(std::size_t node) const;
  std::string names_of(const std::vector<std::size_t>& nodes) const;
  std::vector<std::size_t> nodes_that_have_not_come() const;

  std::vector<Node> nodes_;
  std::optional<JobEnd> end_;
  std::optional<int> stop_signal_;
  bool is_urgent_ = false;  ///< a person has asked again
  bool is_ending_ = false;
  bool has_orderly_exit_ = false;  ///< an agent has ended with the job (bye), not by a loss
};

}  // namespace muster
