// Asks the nodes to run the command, and waits for their answers.
#include "gang/protocol/preflight_command.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace muster::gang {
namespace {

/// Limit of an answer, more than a node needs: an exit code, and a line of 200 bytes.
constexpr std::size_t kMostReasonBytes = 400;

/// Limit of the nodes that are named to all nodes. The reason of the end names the first one anyway.
constexpr std::size_t kMostNamedBad = 16;
/// Stands for the answer of an agent if another agent of its host runs the command.
constexpr const char* kRunByAnother = "by another";

bool is_bad(const std::string& answer) {
  return !answer.empty() && answer != kCommandPassed && answer != kRunByAnother;
}

/// True if the command has found a fault: its exit code is not one by which a shell reports that it cannot run it.
bool shows_node_fault(const std::string& answer) {
  constexpr std::string_view kEnded = "the preflight command ended with exit code ";
  return answer.starts_with(kEnded) && !answer.substr(kEnded.size()).starts_with("126") &&
         !answer.substr(kEnded.size()).starts_with("127");
}

}  // namespace

void forget_unfit(std::vector<UnfitNode>& unfit, LinkId link) {
  if (!unfit.empty() && unfit.front().link == link) {
    unfit.clear();  // the others are judged again with the next holds_back
  }
  std::erase_if(unfit, [link](const UnfitNode& node) { return node.link == link; });
}

bool PreflightCommand::take(LinkId link, const StatusReport& report, Instant now) {
  if (report.number != kCommandNumber) {
    return false;
  }
  const auto found = runs_.find(link);
  if (found != runs_.end() && !found->second.ended) {
    found->second.ended = now;
    found->second.answer = one_line(report.text, kMostReasonBytes);
  }
  return true;
}

void PreflightCommand::forget(LinkId link) {
  runs_.erase(link);
  forget_unfit(unfit_, link);
}

void PreflightCommand::on_tick(Instant now) {
  if (due_ && now >= *due_) {
    due_.reset();
  }
}

bool PreflightCommand::holds_back(Instant now) {
  if (gang_.config.options.preflight_command.empty()) {
    return false;
  }
  begin_attempt();
  const std::vector<LinkId> nodes = gang_.roster.in_order();
  ask(nodes, now);
  give_up_silent(now);
  due_.reset();
  unfit_.clear();
  say_running(nodes, now);
  follow_last(nodes, now);
  if (due_) {
    return true;
  }
  conclude(nodes);
  return !unfit_.empty();
}

/// Runs the command again, because a node may have become bad in the attempt before; but not where it still runs.
void PreflightCommand::begin_attempt() {
  if (attempt_ == gang_.attempt.number()) {
    return;
  }
  attempt_ = gang_.attempt.number();
  next_progress_ = kFirstProgress;
  said_.clear();
  if (!has_only_grown_) {
    std::erase_if(runs_, [](const auto& entry) { return entry.second.ended.has_value(); });
  }
  has_only_grown_ = false;
}

/// Asks the nodes. If the platform starts an agent for each process, asks only one agent of each host.
void PreflightCommand::ask(const std::vector<LinkId>& nodes, Instant now) {
  const GangOptions& options = gang_.config.options;
  std::set<std::string> hosts;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool is_by_another =
        gang_.config.job.are_tasks && !hosts.insert(gang_.roster.find(nodes[i])->join.node.host).second;
    if (!runs_.emplace(nodes[i], is_by_another ? Run{now, now, kRunByAnother} : Run{now}).second || is_by_another) {
      continue;
    }
    is_open_ = true;
    const CommandQuestion question{static_cast<int>(i), static_cast<int>(nodes.size()), gang_.attempt.number(),
                                   options.preflight_timeout};
    gang_.send(nodes[i], StatusQuery{kCommandNumber, to_text(question)});
  }
}

void PreflightCommand::give_up_silent(Instant now) {
  const auto most = gang_.config.options.preflight_timeout + kTimeToAnswer;
  for (auto& [link, run] : runs_) {
    if (!run.ended && now >= run.asked + most) {
      run.ended = now;
      run.answer = "it has not reported within " + whole_seconds(most) + " how the preflight command ended";
    }
  }
}

/// Logs from time to time which commands the start waits for.
void PreflightCommand::say_running(const std::vector<LinkId>& nodes, Instant now) {
  constexpr std::size_t kMostRunning = 4;
  std::vector<std::string> names;
  Instant first = now;
  for (const LinkId link : nodes) {
    if (const Run& run = runs_.at(link); !run.ended) {
      names.push_back(describe_seat(*gang_.roster.find(link)));
      first = std::min(first, run.asked);
    }
  }
  if (names.empty()) {
    return;
  }
  if (now >= first + next_progress_) {
    const std::string where = count_of(names.size(), "node");
    const std::string more = names.size() > kMostRunning ? ", ..." : "";
    names.resize(std::min(names.size(), kMostRunning));
    gang_.say(Level::Info, "the preflight command still runs on " + where + " after " +
                               format_seconds(seconds_of(now - first)) + " s: " + join(names, ", ") + more);
  }
  while (first + next_progress_ <= now) {
    next_progress_ *= 2;
  }
  due_ = first + next_progress_;
}

/// Sets when a run is late, and names the last one if it is far behind the others.
void PreflightCommand::follow_last(const std::vector<LinkId>& nodes, Instant now) {
  LinkId last = kOwnLink;
  std::size_t running = 0;
  for (const LinkId link : nodes) {
    if (const Run& run = runs_.at(link); !run.ended) {
      const Instant end = run.asked + gang_.config.options.preflight_timeout + kTimeToAnswer;
      due_ = std::min(due_.value_or(end), end);
      last = link;
      ++running;
    }
  }
  const std::vector<Instant::duration> others = times(nodes);
  if (running != 1 || others.size() + 1 < kFewestCompared) {
    return;
  }
  const Instant::duration usual = median_of(others);
  const Instant::duration so_far = now - runs_.at(last).asked;
  const Instant far = runs_.at(last).asked + 3 * usual + kLateBy;
  if (now < far) {
    due_ = std::min(*due_, far);
  } else if (said_.insert("last " + std::to_string(last)).second) {
    gang_.send(gang_.roster.links(),
               Announce{describe_seat(*gang_.roster.find(last)) +
                        " is the last: the preflight command has run there for " + format_seconds(seconds_of(so_far)) +
                        " s, and has taken " + format_seconds(seconds_of(usual)) + " s on others"});
  }
}

/// Logs the result when all have answered, and finds the nodes that are bad.
void PreflightCommand::conclude(const std::vector<LinkId>& nodes) {
  std::size_t bad = 0;
  const bool has_passed =
      std::ranges::any_of(nodes, [&](LinkId link) { return runs_.at(link).answer == kCommandPassed; });
  for (const LinkId link : nodes) {
    const std::string& answer = runs_.at(link).answer;
    const std::string name = describe_seat(*gang_.roster.find(link));
    if (answer.empty() && said_.insert(name).second) {
      gang_.say(Level::Warning, name + " has no --preflight-command: it starts without that check");
    }
    if (!is_bad(answer)) {
      continue;
    }
    const std::string why = std::string(name).append(": ").append(answer);
    if (++bad <= kMostNamedBad && said_.insert(why).second) {
      gang_.send(gang_.roster.links(), Announce{why});
    }
    const bool counts = has_passed && shows_node_fault(answer);
    unfit_.push_back({link, why, "failed the preflight command", counts ? answer : ""});
  }
  if (std::exchange(is_open_, false) && unfit_.empty()) {
    say_longest(times(nodes));
  }
}

void PreflightCommand::say_longest(const std::vector<Instant::duration>& taken) {
  const auto longest = std::ranges::max_element(taken);
  if (longest != taken.end() && *longest >= kNoticed) {
    gang_.say(Level::Info, "the preflight command took " + format_seconds(seconds_of(*longest)) + " s");
  }
}

/// Running times of the commands that have ended.
std::vector<Instant::duration> PreflightCommand::times(const std::vector<LinkId>& nodes) const {
  std::vector<Instant::duration> times;
  for (const LinkId link : nodes) {
    if (const Run& run = runs_.at(link); run.ended && run.answer != kRunByAnother) {
      times.push_back(*run.ended - run.asked);
    }
  }
  return times;
}

}  // namespace muster::gang
