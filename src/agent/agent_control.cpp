// What the agent does for its control socket, and what it makes of a notice.
#include "agent/agent.hpp"

#include "base/endpoint.hpp"
#include "base/text.hpp"
#include "environment/worker_variables.hpp"
#include "base/log.hpp"
#include "supervise/notice.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <functional>
#include <map>
#include <utility>

namespace muster {
JobState Agent::job_state() const {
  const gang::GangConfig& policy = input_.job.gang.policy;
  const bool has_others = policy.job.most_nodes > 1;
  return {policy.job.job_id == kNoJobId ? std::string() : policy.job.job_id,
          has_others ? join_endpoint(policy.host, std::to_string(policy.port)) : std::string(),
          policy.version,
          link_.guard,
          policy.job.most_nodes};
}

void Agent::start_control() {
  control_.notify = [this](gang::NodeEvent event) { gang_.notify(std::move(event)); };
  control_.describe = [this] { return describe_node(); };
  control_.name_process = [this](pid_t pid) -> std::optional<std::string> {
    const auto rank = attempt_ ? attempt_->rank_of(pid) : std::nullopt;
    return rank ? std::optional("rank " + std::to_string(*rank)) : std::nullopt;
  };
  if (input_.job.plan.is_transparent) {
    return;
  }
  control_.start();
  const auto withdraw = [this](const std::string& source) {
    gang_.notify(gang::SuspendRequested{source, {}, /*is_withdrawn=*/true});
  };
  notice_sources_ = make_notice_sources(io_,
                                        helpers_,
                                        input_.options.suspend,
                                        {std::bind_front(&Agent::take_notice, this), withdraw});
  for (const auto& source : notice_sources_) {
    source->start();
  }
}

/// What workers find of their job; inside another launcher's worker they find what that has.
void Agent::add_job_environment(LaunchPlan& plan, const gang::Start& start) const {
  if (plan.is_transparent) {
    return;
  }
  std::map<std::string, std::string> all = {
      {kRestartCountVariable, std::to_string(start.restart_count)}};
  if (!start.last_verdict.empty()) {
    all[kLastVerdictVariable] = start.last_verdict;
  }
  if (!input_.options.state_folder.empty()) {
    all[kJobStateVariable] = input_.options.state_folder;
  }
  for (std::size_t i = 0; i < plan.workers.size(); ++i) {
    plan.workers[i].environment.merge(control_.environment_of(i));
    plan.workers[i].environment.insert(all.begin(), all.end());
  }
}

control::NodeStatus Agent::describe_node() const {
  control::NodeStatus status;
  status.host = input_.options.host_name;
  status.pid = link_.guard;
  if (!attempt_) {
    const auto awaited = gang_.awaited();
    status.state = awaited.empty() ? "starting" : "waiting for " + join(awaited, ", ");
    return status;
  }
  status.node = attempt_->plan().node_rank.value;
  status.attempt = attempt_->plan().attempt;
  status.state = "running";
  status.workers = attempt_->describe_workers();
  return status;
}

/// Of a signal that ends the job on other platforms, the platform's kill follows after its grace.
void Agent::request_suspend(int signal) {
  heartbeat_sender_.beat_from_now_on();  // the guard has heard it, too
  const bool is_usual_end =
      signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
  take_notice(signal_name(signal),
              is_usual_end ? std::optional(time_to_save(input_.options.grace)) : std::nullopt);
}

/// The end of the allocation bounds every notice.
void Agent::take_notice(const std::string& source,
                        std::optional<std::chrono::milliseconds> within) {
  if (const auto left = input_.options.suspend.time_left()) {
    within = within ? std::min(*within, *left) : *left;
  }
  gang_.notify(gang::SuspendRequested{source, within});
}

void Agent::notify_workers(const gang::SuspendNotice& notice) {
  control_.take_notice(notice, attempt_->plan().attempt);
  for (const auto& source : notice_sources_) {
    source->on_told();
  }
  attempt_->take_notice(notice.is_withdrawn, input_.options.suspend.tells_by);
  log_info(notice.is_withdrawn
               ? "the notice (" + notice.source + ") is withdrawn: the job goes on"
               : "the job is to be suspended (" + notice.source + "): the workers have " +
                     format_seconds(std::chrono::duration<double>(notice.within).count()) +
                     " s to save");
}

}  // namespace muster
