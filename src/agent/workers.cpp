// Starts the processes of a plan, signals them, and finds ranks of mpirun below them.
#include "agent/workers.hpp"

#include "base/text.hpp"
#include "process/inherited.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iterator>

namespace muster {
namespace {

std::vector<std::string> environment_of(const WorkerPlan& worker, const InheritedEnvironment& surroundings) {
  std::vector<std::string> environment;
  environment.reserve(surroundings.variables.size() + worker.environment.size() + 1);
  for (const auto& [name, value] : surroundings.variables) {
    const bool is_replaced =
        worker.environment.contains(name) || (name == kMarkerVariable && !surroundings.marker.empty());
    const bool is_unset = std::find(worker.unset.begin(), worker.unset.end(), name) != worker.unset.end();
    if (!is_replaced && !is_unset) {
      environment.push_back(environment_entry(name, value));
    }
  }
  for (const auto& [name, value] : worker.environment) {
    environment.push_back(environment_entry(name, value));
  }
  if (!surroundings.marker.empty()) {
    environment.push_back(environment_entry(kMarkerVariable, surroundings.marker));
  }
  return environment;
}

/// Adds the worker; if it ends with its ranks and has started some, adds these instead.
void add_asked(const Process& worker, bool ends_with_ranks, std::vector<Process>& asked) {
  const std::vector<Process> ranks = ends_with_ranks ? mpirun_ranks(worker.pid) : std::vector<Process>();
  ranks.empty() ? asked.push_back(worker) : void(std::ranges::copy(ranks, std::back_inserter(asked)));
}

/// Forbids core files of the process and its descendants: they take minutes to write.
void forbid_core_files(pid_t process) {
  constexpr rlimit kNone{0, 0};
  (void)::prlimit(process, RLIMIT_CORE, &kNone, nullptr);
  for (const Process& below : descendants(read_processes(), process, {})) {
    (void)::prlimit(below.pid, RLIMIT_CORE, &kNone, nullptr);
  }
}

}  // namespace

SpawnRequest worker_request(const WorkerPlan& planned, const InheritedEnvironment& surroundings,
                            const WorkerStart& how) {
  SpawnRequest request;
  request.executable = how.executable;
  request.argv = planned.argv;
  request.environment = environment_of(planned, surroundings);
  request.standard_input = how.standard_input;
  request.leads_session = how.leads_session;
  request.terminal = how.terminal;
  if (planned.binding) {
    request.cpus = planned.binding->cpus;
    request.memory_nodes = planned.binding->memory_nodes;
    request.is_memory_strict = planned.binding->is_memory_strict;
  }
  request.working_directory = planned.changes_directory ? planned.working_directory : "";
  return request;
}

Workers::Workers(const LaunchPlan& plan, const Inherited& inherited, InheritedEnvironment surroundings,
                 Standbys* standbys)
    : plan_(plan),
      surroundings_(std::move(surroundings)),
      standbys_(standbys),
      spawner_(inherited),
      states_(plan.workers.size()) {}

Result<> Workers::start(std::size_t worker, const WorkerStart& how) {
  SpawnRequest request = worker_request(plan_.workers[worker], surroundings_, how);
  auto standby = standbys_ == nullptr ? std::nullopt : standbys_->take(worker, request, how.output);
  if (standby) {
    note_start(worker, how, standby->pid, std::move(standby->pidfd));
    states_[worker].was_standby = true;
    if (auto connected = how.connect(std::move(standby->ours)); !connected) {
      this->signal(worker, SIGKILL);
      return connected;
    }
  } else {
    auto ends = TRY(make_output_ends(how.output));
    terminal_refusal_ = ends.refusal;
    if (standbys_ != nullptr) {
      request = standbys_->noting_imports(worker, std::move(request));
    }
    give_ends(request, ends.workers);
    // Connected first: if a log file cannot be made, there is no process to kill.
    TRY(how.connect(std::move(ends.ours)));
    auto spawned = TRY(spawner_.spawn(request));
    memory_refusal_ = spawned.memory_refusal;
    note_start(worker, how, spawned.pid, std::move(spawned.pidfd));
  }
  if (standbys_ != nullptr) {
    standbys_->note_start(worker, states_[worker].pid);
  }
  return {};
}

void Workers::note_start(std::size_t worker, const WorkerStart& how, pid_t pid, UniqueFd pidfd) {
  State& state = states_[worker];
  state = {};
  state.pid = pid;
  state.is_alive = true;
  state.leads_session = how.leads_session;
  state.started = Clock::now();
  reaper_.watch(worker, pid, std::move(pidfd));
}

void Workers::note_end(const Death& death) {
  State& state = states_[death.worker];
  state.is_alive = false;
  state.ended = Clock::now();
  state.use = death.use;
  state.user = death.user;
}

void Workers::signal_all(int signal) const {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    this->signal(i, signal);
  }
}

void Workers::signal(std::size_t worker, int signal) const {
  const State& state = states_[worker];
  if (!state.is_alive) {
    return;
  }
  // Not reaped yet, so pid and group are the worker's. It may have joined another group.
  (void)::kill(-state.pid, signal);
  if (::getpgid(state.pid) != state.pid) {
    (void)::kill(state.pid, signal);
  }
}

void Workers::abort(std::size_t worker) {
  State& state = states_[worker];
  if (state.is_alive) {
    state.is_aborted = true;
    forbid_core_files(state.pid);
    this->signal(worker, SIGABRT);
  }
}

/// The living workers and, in the same order, their processes.
std::pair<std::vector<std::size_t>, std::vector<Process>> Workers::living() const {
  std::pair<std::vector<std::size_t>, std::vector<Process>> found;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (auto process = states_[i].is_alive ? find_process(states_[i].pid) : std::nullopt) {
      found.first.push_back(i);
      found.second.push_back(std::move(*process));
    }
  }
  return found;
}

std::vector<Process> Workers::programs_for(int signal) const {
  std::vector<Process> informed;
  const auto handles = [signal](const Process& one) { return survives(one.pid, signal); };
  for (std::vector<Process>& programs : programs_of(living().second)) {
    (void)take_left_to_handlers(programs, signal);
    std::ranges::move(informed_programs(programs, handles), std::back_inserter(informed));
  }
  return informed;
}

/// Passes over a runner that the signal would end, such as `timeout`, like a shell: the program below may handle it.
Workers::NoticePrograms Workers::programs_for_notice(int signal) const {
  NoticePrograms found;
  const auto handles = [signal](const Process& one) { return survives(one.pid, signal); };
  const auto is_passed_over = [&](const Process& one) { return runs_shell(one) || !handles(one); };
  const auto [workers, tops] = living();
  auto programs = programs_of(tops, is_passed_over);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    std::ranges::move(take_left_to_handlers(programs[i], signal), std::back_inserter(found.left));
    const std::size_t before = found.handling.size();
    std::ranges::copy_if(programs[i], std::back_inserter(found.handling), handles);
    if (found.handling.size() == before) {
      found.without.push_back(workers[i]);
    }
  }
  return found;
}

void Workers::pass_on(int signal) {
  passed_on_.insert(signal);
  if (signal == SIGCONT) {
    go_on();
  } else if (signal == SIGWINCH || signal == SIGTSTP || !is_proc_ours()) {
    signal_all(signal);
  } else {
    for (const Process& program : programs_for(signal)) {
      signal_exactly(program, signal);
    }
  }
}

void Workers::hold() {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].leads_session) {
      states_[i].is_held = true;
      this->signal(i, SIGSTOP);
    }
  }
}

void Workers::go_on() {
  signal_all(SIGCONT);
  for (State& state : states_) {
    state.is_held = false;
  }
}

bool Workers::has_passed_on(const ExitStatus& status) const {
  return status.signal() && passed_on_.contains(*status.signal());
}

std::vector<std::vector<Process>> Workers::begin_stop(int signal, std::optional<Clock::time_point> asked_at) {
  const bool has_proc = is_proc_ours();
  std::vector<Process> tops;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    State& state = states_[i];
    state.was_exiting = false;
    if (!state.is_alive || state.is_aborted || (asked_at && state.started < *asked_at)) {
      continue;
    }
    if (signal == SIGABRT) {
      forbid_core_files(state.pid);
    }
    if (!has_proc) {
      this->signal(i, signal);
    } else if (auto process = find_process(state.pid)) {
      state.was_exiting = is_exiting(*process);
      add_asked(*process, plan_.workers[i].ends_with_ranks, tops);
    }
  }
  return programs_of(tops);
}

double Workers::run_time_seconds(std::size_t worker) const {
  const State& state = states_[worker];
  if (state.pid < 0) {
    return 0;
  }
  const auto end = state.is_alive ? Clock::now() : state.ended;
  return std::chrono::duration<double>(end - state.started).count();
}

template <typename Is>
std::optional<std::size_t> Workers::find_by(const Is& is_it) const {
  const auto at = std::find_if(states_.begin(), states_.end(), is_it);
  return at == states_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(at - states_.begin()));
}

std::optional<std::size_t> Workers::find(pid_t pid) const {
  return find_by([pid](const State& state) { return state.is_alive && state.pid == pid; });
}

std::optional<std::size_t> Workers::find_ancestor_worker(pid_t pid) const {
  constexpr int kMostParents = 32;
  pid_t above = pid;
  for (int i = 0; i < kMostParents && above > 1; ++i) {
    if (const auto worker = find(above)) {
      return worker;
    }
    const auto process = is_proc_ours() ? find_process(above) : std::nullopt;
    above = process ? process->parent : -1;
  }
  return find_by([pid](const State& state) { return pid > 1 && state.pid == pid; });
}

std::optional<std::size_t> Workers::signal_member(pid_t pid, int signal) const {
  if (const auto worker = find(pid)) {
    (void)::kill(pid, signal);  // not reaped yet, so the pid is the worker's
    return worker;
  }
  const auto process = is_proc_ours() ? find_process(pid) : std::nullopt;
  const auto worker = process && !is_dead(*process) ? find_ancestor_worker(process->parent) : std::nullopt;
  if (worker) {
    signal_exactly(*process, signal);
  }
  return worker;
}

std::set<pid_t> Workers::living_pids() const {
  std::set<pid_t> pids;
  for (const State& state : states_) {
    if (state.is_alive) {
      pids.insert(state.pid);
    }
  }
  return pids;
}

// Finds ranks by a variable that mpirun sets in their environment.

namespace {

/// Set for each rank and its descendants, not for mpirun and its daemons (Open MPI 4 and 5).
constexpr const char* kVariableOfRanks = "OMPI_COMM_WORLD_RANK";

bool has_variable_of_ranks(pid_t pid) {
  return variable_of(pid, kVariableOfRanks).has_value();
}

}  // namespace

std::vector<Process> mpirun_ranks(pid_t starter) {
  std::vector<Process> ranks;
  std::set<pid_t> family;
  for (const Process& process : descendants(read_processes(), starter, {})) {
    if (!has_variable_of_ranks(process.pid)) {
      continue;
    }
    family.insert(process.pid);
    if (!family.contains(process.parent)) {  // parents come first: others descend from a rank, which decides about them
      ranks.push_back(process);
    }
  }
  return ranks;
}

std::vector<Process> left_by_ranks(const std::vector<Process>& all, pid_t root, bool (*belongs_to_rank)(pid_t)) {
  std::vector<Process> left;
  std::set<pid_t> family;
  for (const Process& process : descendants(all, root, {})) {
    const bool is_of_family = family.contains(process.parent);
    if (!is_of_family && !belongs_to_rank(process.pid)) {
      continue;
    }
    if (!is_of_family && process.parent != root) {
      return {};
    }
    family.insert(process.pid);
    left.push_back(process);
  }
  return left;
}

std::vector<Process> left_by_local_ranks() {
  // Inside a rank of another mpirun every process has the variable.
  const bool is_in_rank = has_variable_of_ranks(::getpid());
  const std::vector<pid_t> children = own_children();
  if (is_in_rank || std::none_of(children.begin(), children.end(), has_variable_of_ranks)) {
    return {};
  }
  return left_by_ranks(read_processes(), ::getpid(), has_variable_of_ranks);
}

}  // namespace muster
