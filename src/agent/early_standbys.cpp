// Finds out what the first attempt will start on this node, as far as it is known before the nodes have met.
#include "agent/early_standbys.hpp"

#include "agent/attempt_plan.hpp"
#include "agent/workers.hpp"
#include "base/log.hpp"
#include "output/worker_streams.hpp"
#include "process/inherited.hpp"

#include <unistd.h>

#include <chrono>
#include <iterator>
#include <utility>
#include <vector>

namespace muster {
namespace {

/// Delay of the preparation: most nodes wait for less, and would search their programs in vain.
constexpr std::chrono::seconds kDelay{1};

/// True where the ranks of this node are known before it meets the others.
bool are_ranks_known(const gang::GangConfig& config) {
  return config.job.most_nodes == 1 || (config.job.most_nodes == config.job.least_nodes && config.node.rank);
}

}  // namespace

EarlyStandbys::EarlyStandbys(ProcessLoop& loop, const RunContext& run, Standbys& standbys, ReadAhead& read_ahead)
    : loop_(loop),
      run_(run),
      standbys_(standbys),
      read_ahead_(read_ahead),
      programs_(loop.io(), loop.helpers(), plan_, run.variables),
      timer_(loop.io()) {}

void EarlyStandbys::start() {
  const gang::GangConfig& config = run_.job.gang.config;
  const bool waits = config.job.most_nodes > 1 || !run_.job.inputs.empty();
  makes_standbys_ = standbys_.are_wanted() && !run_.job.plan.is_transparent;
  if (makes_standbys_ && !waits && config.options.restarts.max_restarts == 0) {
    log_debug("--standby has no effect: this job of one node starts once (--max-restarts)");
  }
  if (makes_standbys_ && waits && !are_ranks_known(config)) {
    log_debug("standbys: the ranks of this node are not known before the nodes have met");
    makes_standbys_ = false;
  }
  if (waits && (makes_standbys_ || read_ahead_.is_wanted())) {
    timer_.start(kDelay, [this] { find_programs(); });
  }
}

void EarlyStandbys::find_programs() {
  plan_ = expected_plan(run_);
  if (!makes_standbys_ && !plan_.workers.empty()) {  // one is enough to read ahead, even if another node runs it
    plan_.workers.erase(std::next(plan_.workers.begin()), plan_.workers.end());
    plan_.workers.front().makes_directory = false;
  }
  if (programs_.find([this] { begin(); })) {
    begin();
  }
}

void EarlyStandbys::begin() {
  if (read_ahead_.is_wanted() && !plan_.workers.empty() && programs_.of(0)) {
    read_ahead_.begin_wait(plan_.workers.front(), *programs_.of(0));
  }
  if (makes_standbys_) {
    make_standbys();
  }
}

void EarlyStandbys::cancel() {
  timer_.cancel();
  programs_.cancel();
}

void EarlyStandbys::make_standbys() {
  const InheritedEnvironment surroundings{run_.variables, add_marker(run_.variables, run_.marker)};
  const WorkerStreams streams(loop_.io(), loop_.queues(), plan_, run_);
  const auto reader = reader_of_input(plan_, run_.options);
  std::vector<Standbys::Expected> workers;
  for (std::size_t i = 0; i < plan_.workers.size(); ++i) {
    const WorkerPlan& planned = plan_.workers[i];
    const Result<std::string>& program = programs_.of(i);
    const bool reads_input = reader == i || run_.options.input_for == InputFor::All;
    if (program && !(reads_input && ::isatty(STDIN_FILENO) == 1)) {
      const WorkerStart how{.executable = *program,
                            .standard_input = reads_input ? STDIN_FILENO : -1,
                            .leads_session = true,
                            .output = streams.connection_of(i),
                            .connect = {}};
      workers.push_back({i, planned.global_rank.value, worker_request(planned, surroundings, how), how.output});
    }
  }
  standbys_.begin_wait(plan_.workers.size(), std::move(workers));
}

}  // namespace muster
