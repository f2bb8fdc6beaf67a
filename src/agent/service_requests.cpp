// Makes services before an attempt and at its start, and asks their store.
#include "agent/service_requests.hpp"

#include "services/torch_store/torch_store_service.hpp"

namespace muster {

ServiceRequests::ServiceRequests(ProcessLoop& loop, PendingWork& pending, const RunContext& run, gang::Gang& gang,
                                 const std::unique_ptr<Attempt>& attempt)
    : loop_(loop),
      run_(run),
      gang_(gang),
      attempt_(attempt),
      store_(loop.io(), loop.helpers()),
      sidecars_(loop.io(), run.inherited, run.variables, run.marker),
      files_(loop.io(), loop.helpers(), pending, run.options.console_stall) {}

Result<AttemptPorts> ServiceRequests::prepare() {
  store_.end();  // the old store still listens on the port that the next one needs
  next_ = make(run_.job.plan.services);
  return next_->prepare();
}

std::unique_ptr<Services> ServiceRequests::take(const LaunchPlan& plan) {
  if (!next_) {
    next_ = make(plan.services);
  }
  next_->adjust(plan.services);
  return std::move(next_);
}

std::unique_ptr<Services> ServiceRequests::make(const std::vector<std::string>& names) {
  return std::make_unique<Services>(
      names, ServiceInput{run_.job.plan.cluster.worker_port, run_.run_folder, run_.options.host_name,
                          run_.job.gang.key != nullptr, sidecars_.environment(), &store_, this});
}

bool ServiceRequests::ask_store(std::function<void(const std::string& keys)> then) {
  return store_.request_waiting_ranks([this, then = std::move(then)](const store::AwaitedKeys& awaited) {
    const auto nodes = gang_.nodes();
    then(describe_awaited(awaited, nodes.empty() ? std::string() : nodes.front().address, *this));
  });
}

void ServiceRequests::write_as_worker(std::size_t worker, std::string_view lines) {
  if (attempt_) {
    attempt_->write_as_worker(worker, lines);
  }
}

std::optional<int> ServiceRequests::rank_of(std::uint32_t pid) const {
  return attempt_ ? attempt_->rank_of(static_cast<pid_t>(pid)) : std::nullopt;
}

std::optional<int> ServiceRequests::signal_process(int pid, int signal) {
  return attempt_ ? attempt_->signal_process(pid, signal) : std::nullopt;
}

}  // namespace muster
