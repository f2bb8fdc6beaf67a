// Decides what the remote launcher does. Pure.
#include "remote/launcher_state.hpp"

#include "base/signals.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

namespace muster {
namespace {

/// The end of a job whose agent could not start, by the exit code of muster or of the remote host's shell; any other
/// code comes from the remote shell program.
JobEnd end_without(const ExitStatus& status, std::string reason) {
  constexpr std::array kOwn{EndKind::SystemRefused, EndKind::NodeRefused, EndKind::BadInput, EndKind::NotExecutable,
                            EndKind::NotFound};
  for (const EndKind kind : kOwn) {
    if (status.code() == exit_code_of(kind)) {
      return make_end(kind, std::move(reason));
    }
  }
  constexpr int kBadUsage = static_cast<int>(ErrorKind::BadUsage);
  const bool is_option_wrong = status.code() == kBadUsage;  // only the node itself sees its devices
  JobEnd end = make_end(is_option_wrong ? EndKind::NodeRefused : EndKind::Incomplete, std::move(reason));
  end.exit_code = is_option_wrong ? kBadUsage : end.exit_code;
  return end;
}

}  // namespace

LauncherState::LauncherState(std::vector<std::string> hosts) {
  for (std::string& host : hosts) {
    nodes_.push_back({.host = std::move(host)});
  }
}

std::string LauncherState::name_of(std::size_t node) const {
  return describe_node(NodeRank{static_cast<int>(node)}, nodes_[node].host);
}

std::vector<std::size_t> LauncherState::nodes_that_have_not_come() const {
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].has_come && !nodes_[i].has_ended) {
      missing.push_back(i);
    }
  }
  return missing;
}

std::string LauncherState::describe_missing() const {
  return names_of(nodes_that_have_not_come());
}

std::string LauncherState::describe_late() const {
  std::vector<std::size_t> late;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].has_come && !nodes_[i].has_ended && !nodes_[i].bye) {
      late.push_back(i);
    }
  }
  return names_of(late);
}

std::string LauncherState::names_of(const std::vector<std::size_t>& nodes) const {
  constexpr std::size_t kMostNamed = 8;
  std::vector<std::string> names;
  for (const std::size_t node : nodes) {
    if (names.size() == kMostNamed) {
      names.push_back(std::to_string(nodes.size() - kMostNamed) + " more");
      break;
    }
    names.push_back(name_of(node));
  }
  return join(names, ", ");
}

LauncherActions LauncherState::on_ended(std::size_t node, const ExitStatus& status, const std::string& last_line) {
  Node& ended = nodes_[node];
  ended.has_ended = true;
  if (ended.bye) {
    return on_orderly_exit();
  }
  const std::string words = last_line.empty() ? status.describe() : last_line;
  const std::string loss = name_of(node) + " was lost: " + words;
  if (is_ending_) {
    if (ended.has_come && has_stopped_unasked()) {
      end_ = make_end(EndKind::Lost, loss);
    }
    return after_an_end({});
  }
  return ended.has_come ? fail(make_end(EndKind::Lost, loss))
                        : fail(end_without(status, name_of(node) + " did not come: " + words));
}

/// An agent that loses the launcher stops the job, and the other agents may end before the launcher sees the loss.
bool LauncherState::has_stopped_unasked() const {
  return !end_ && !stop_signal_ && std::any_of(nodes_.begin(), nodes_.end(), [](const Node& node) {
    return node.bye == ExitStatus::signalled(SIGTERM).shell_code();
  });
}

/// Acts on an agent that has ended with the job: the whole gang ends then, so the others get a grace to end.
LauncherActions LauncherState::on_orderly_exit() {
  LauncherActions actions;
  if (!std::exchange(is_ending_, true)) {
    if (const auto late = nodes_that_have_not_come(); !late.empty()) {
      actions.emplace_back(EndShells{late});  // an agent that comes now would find no job
    }
    actions.emplace_back(StartLauncherGrace{});
  }
  if (!std::exchange(has_orderly_exit_, true) && !describe_late().empty()) {
    actions.emplace_back(WatchLateNodes{});
  }
  return after_an_end(std::move(actions));
}

LauncherActions LauncherState::on_not_started(std::size_t node, const Error& why) {
  nodes_[node].has_ended = true;
  if (is_ending_) {
    return after_an_end({});
  }
  return fail(end_without(ExitStatus::exited(why.exit_code()), name_of(node) + " cannot be reached: " + why.message));
}

LauncherActions LauncherState::fail(JobEnd end) {
  is_ending_ = true;
  end_ = std::move(end);
  return after_an_end(
      {NotifyNodes{{kEndFrame}}, EndShells{nodes_that_have_not_come()}, StartLauncherGrace{.is_failure = true}});
}

LauncherActions LauncherState::after_an_end(LauncherActions actions) {
  const bool is_over = std::ranges::all_of(nodes_, &Node::has_ended);
  if (!is_over) {
    return actions;
  }
  const bool has_code = std::ranges::any_of(nodes_, [](const Node& node) { return node.bye.has_value(); });
  if (!end_ && !has_code && stop_signal_) {
    end_ = end_by_signal(*stop_signal_);
  }
  actions.emplace_back(FinishLauncher{});
  return actions;
}

LauncherActions LauncherState::on_start_timeout() {
  const bool has_one = std::ranges::any_of(nodes_, &Node::has_come);
  if (is_ending_ || has_one) {
    return {};
  }
  is_ending_ = true;
  end_ = make_end(EndKind::Incomplete, "no node came in time (--gang-timeout): " + describe_missing());
  return {EndShells{nodes_that_have_not_come()}, StartLauncherGrace{.is_failure = true, .is_of_all = true}};
}

LauncherActions LauncherState::on_stop(int signal) {
  const bool is_repeated = stop_signal_.has_value();
  const bool means_now = is_repeated && is_from_keyboard(signal);  // for the agents as well
  is_ending_ = true;
  stop_signal_ = stop_signal_.value_or(signal);
  if (is_repeated && !means_now) {
    return {TellLauncherGrace{}};
  }
  if (means_now && std::exchange(is_urgent_, true)) {
    return {KillShells{}};
  }
  return {NotifyNodes{{kSignalFrame, signal_name(signal)}}, EndShells{nodes_that_have_not_come()},
          StartLauncherGrace{means_now}};
}

LauncherActions LauncherState::on_grace_ended() {
  return {KillShells{}};
}

LauncherActions LauncherState::on_guard_lost() {
  stop_signal_ = stop_signal_.value_or(SIGKILL);
  is_ending_ = true;
  return {KillShells{}};
}

/// All agents exit with one code; the leader's is the most reliable one.
int LauncherState::exit_code() const {
  if (end_) {
    return end_->exit_code;
  }
  for (const Node& node : nodes_) {
    if (node.bye) {
      return *node.bye;
    }
  }
  return exit_code_of(EndKind::Lost);
}

}  // namespace muster
