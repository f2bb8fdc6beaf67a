// Starts one worker, lets the loop handle other events, then starts the next one.
#include "agent/worker_starter.hpp"

#include "base/log.hpp"
#include "base/ranks.hpp"
#include "base/text.hpp"
#include "environment/cgroups.hpp"
#include "process/spawn.hpp"

#include <boost/asio/post.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

namespace muster {

// Finds the files of the plan, on file systems that may hang: see docs/processes.md.

namespace {

constexpr std::chrono::seconds kSlow{10};
constexpr const char* kUsualPath = "/usr/local/bin:/usr/bin:/bin";

using Found = Result<std::string>;

/// Finds a worker's program, once for each name, checks its script and makes its directory.
class Search {
 public:
  explicit Search(std::string search_path) : search_path_(std::move(search_path)) {}

  Found find(const WorkerPlan& worker) {
    if (!worker.script.empty() && worker.script != checked_script_) {
      TRY(check_script(worker.script));
      checked_script_ = worker.script;
    }
    const Found& program = program_of(worker.argv.front());
    if (program && worker.makes_directory) {
      std::error_code failed;
      std::filesystem::create_directories(worker.working_directory, failed);
      if (failed) {
        return system_error("cannot make the folder '" + worker.working_directory + "'", failed.value());
      }
    }
    return program;
  }

 private:
  const Found& program_of(const std::string& name) {
    const auto known = programs_.find(name);
    return known != programs_.end() ? known->second : programs_.emplace(name, resolve(name)).first->second;
  }

  Found resolve(const std::string& name) const {
    Found found = find_executable(name, search_path_);
    if (found && name.find('/') == std::string::npos) {
      // An entry of PATH may be relative to our working directory, not to the worker's.
      std::error_code failed;  // without a working directory the path stays relative
      const std::filesystem::path whole = std::filesystem::absolute(*found, failed);
      *found = failed ? *found : whole.string();
    }
    return found;
  }

  std::string search_path_;
  std::map<std::string, Found> programs_;  ///< by name
  std::string checked_script_;
};

/// One result for each worker.
std::vector<Found> find_all(const LaunchPlan& plan, const std::string& search_path) {
  Search search(search_path);
  std::vector<Found> all;
  for (const WorkerPlan& worker : plan.workers) {
    all.push_back(search.find(worker));
  }
  return all;
}

/// Encodes one result per worker: a status byte (0 or the kind of the error), then the path or the error text.
std::string write_all(const std::vector<Found>& all) {
  std::string answer;
  for (const Found& found : all) {
    answer += static_cast<char>(found ? 0 : static_cast<int>(found.error().kind));
    answer += (found ? *found : found.error().message) + '\0';
  }
  return answer;
}

/// Reads the first bytes of all files into the page cache, and of their interpreters, as deep as Linux follows them.
void preload_files(const std::vector<Found>& all) {
  constexpr int kMostInterpreters = 5;
  std::set<std::string> files;
  for (const Found& found : all) {
    if (found) {
      files.insert(*found);
    }
  }
  for (std::string file : files) {
    for (int depth = 0; depth < kMostInterpreters && !file.empty(); ++depth) {
      file = interpreter_of(file);
    }
  }
}

std::vector<Found> read_all(const std::string& answer) {
  std::vector<Found> all;
  for (std::size_t begin = 0; begin < answer.size();) {
    const auto kind = static_cast<unsigned char>(answer[begin]);
    const std::size_t end = answer.find('\0', begin + 1);
    std::string text = answer.substr(begin + 1, end - begin - 1);
    all.push_back(kind == 0 ? Found(std::move(text)) : Found(Error{static_cast<ErrorKind>(kind), std::move(text)}));
    begin = end + 1;
  }
  return all;
}

}  // namespace

Programs::Programs(boost::asio::io_context& io, HelperProcesses& helpers, const LaunchPlan& plan,
                   const std::map<std::string, std::string>& variables)
    : plan_(plan),
      search_path_(value_at(variables, "PATH", kUsualPath)),
      helper_task_(io, helpers),
      slow_search_timer_(io, kSlow, [this] { log_slow_search(); }) {}

bool Programs::find(std::function<void()> then) {
  if (plan_.placement.nodes == 1) {
    found_ = find_all(plan_, search_path_);
    return true;
  }
  began_ = std::chrono::steady_clock::now();
  slow_search_timer_.ask();
  const auto work = [this] {
    const auto all = find_all(plan_, search_path_);
    preload_files(all);
    return write_all(all);
  };
  helper_task_.start({work, HelperTask::kNoLimit, [this, then = std::move(then)](const HelperTask::Answer& answer) {
                        slow_search_timer_.cancel();
                        // The helper process was killed: search here.
                        found_ = answer ? read_all(*answer) : find_all(plan_, search_path_);
                        then();
                      }});
  return false;
}

void Programs::cancel() {
  slow_search_timer_.cancel();
  helper_task_.cancel();
}

void Programs::log_slow_search() {
  const auto waited = std::chrono::round<std::chrono::seconds>(std::chrono::steady_clock::now() - began_);
  log_warning("nothing is started yet: a file system has not answered for " + std::to_string(waited.count()) +
              " s, where '" + plan_.workers.front().argv.front() + "' is looked for");
  slow_search_timer_.ask();
}

// Counts the file descriptors that a job needs.

namespace {

/// Enough links for strangers: more of them come at once only in larger jobs.
constexpr rlim_t kEnoughStrangers = 1'024;
/// Fewest links for strangers: with fewer, an agent that connects during a flood of them might not be heard.
constexpr rlim_t kLeastStrangers = 32;

/// Number of nodes that an agent may lead. If workers are counted, assumes that each node has as many as this one.
rlim_t links_of(const gang::GangSetup& gang, int nodes) {
  const int slots = std::max(1, gang.config.node.slots);
  const int total = gang.config.job.total_slots.value_or(0);
  const int linked =
      gang.config.job.total_slots ? std::min(gang.config.job.most_nodes, (total + slots - 1) / slots) : nodes;
  return gang.lead != gang::Lead::Never && linked > 1 ? static_cast<rlim_t>(linked) : 0;
}

rlim_t most_links(const gang::GangSetup& gang) {
  return links_of(gang, gang.config.job.most_nodes);
}

/// Descriptors of this process without links: muster's own, reserved ports, and for each worker two pipes and a
/// pidfd. Log files are open in the process that writes them, which has no others.
rlim_t descriptors_of(const JobPlan& job) {
  constexpr rlim_t kForMuster = 32;
  constexpr rlim_t kPerWorker = 3;
  return kForMuster + static_cast<rlim_t>(job.ports_to_reserve) + kPerWorker * job.plan.workers.size();
}

}  // namespace

Result<> check_descriptors(const JobPlan& job) {
  const LaunchPlan& plan = job.plan;
  const rlim_t links = links_of(job.gang, job.gang.config.job.least_nodes);
  const auto ports = static_cast<rlim_t>(job.ports_to_reserve);
  // A leader that listens needs room for peers that have not identified themselves yet.
  const rlim_t needed = descriptors_of(job) + links + (most_links(job.gang) > 0 ? kLeastStrangers : 0);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) {
    return {};
  }
  return Error{ErrorKind::System, "cannot start " + count_of(plan.workers.size(), noun_of(plan.workers)) +
                                      (ports > 0 ? " with " + count_of(ports, "port") : std::string()) +
                                      (links > 0 ? " and lead " + std::to_string(links) + " nodes" : std::string()) +
                                      ": that takes " + std::to_string(needed) +
                                      " file descriptors, and the hard limit is " + std::to_string(limit.rlim_cur) +
                                      " (ulimit -Hn)"};
}

LinkCapacity room_for_links(const JobPlan& job) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return {.nodes = most_links(job.gang), .strangers = kLeastStrangers};
  }
  const auto remaining = [&limit](rlim_t taken) { return limit.rlim_cur - std::min(taken, limit.rlim_cur); };
  const rlim_t own = descriptors_of(job);
  const rlim_t wanted = std::max(kEnoughStrangers, 2 * static_cast<rlim_t>(job.gang.config.job.most_nodes));
  const rlim_t strangers =
      std::clamp(std::min(remaining(own + most_links(job.gang)) / 2, limit.rlim_cur / 4), kLeastStrangers, wanted);
  return {.nodes = remaining(own + strangers), .strangers = strangers};
}

namespace {

/// Start timeout of services, which may load a library or start a program.
constexpr std::chrono::seconds kReadyDelay{30};

}  // namespace

StartPreparation::StartPreparation(const AttemptInput& input, LaunchPlan& plan, WorkerStreams& streams,
                                   Services& services)
    : plan_(plan),
      streams_(streams),
      services_(services),
      programs_(input.io, input.helpers, plan, input.run.variables),
      error_files_(input.io, input.helpers, plan, input.run.run_folder),
      oom_kills_before_(read_oom_counter(input.run.memory_group.oom_counter).value_or(0)),
      ready_timer_(input.io, kReadyDelay, [this] { services_.give_up_waiting(kReadyDelay); }) {}

bool StartPreparation::begin(const std::function<void()>& then) {
  const auto end_step = [this, then] {
    if (--pending_steps_ == 0) {
      then();
    }
  };
  services_.on_ready = end_step;
  pending_steps_ += error_files_.prepare(end_step) ? 0 : 1;
  if (!services_.start(plan_)) {
    ++pending_steps_;
    ready_timer_.ask();
  }
  pending_steps_ += streams_.open_files(end_step) ? 0 : 1;
  pending_steps_ += programs_.find(end_step) ? 0 : 1;
  return pending_steps_ == 0;
}

void StartPreparation::cancel() {
  programs_.cancel();
  ready_timer_.cancel();
  streams_.stop_opening();
}

WorkerStarter::WorkerStarter(const AttemptInput& input, const LaunchPlan& plan, Workers& workers,
                             WorkerStreams& streams, StartPreparation& preparation)
    : io_(input.io),
      options_(input.run.options),
      plan_(plan),
      workers_(workers),
      streams_(streams),
      preparation_(preparation),
      reader_(reader_of_input(plan, options_)),
      terminal_(input.guard, /*is_wanted=*/reader_.has_value()),
      null_input_(open_null(NullFor::Reading)) {}

void WorkerStarter::start() {
  boost::asio::post(io_, [this] {
    if (!is_cancelled_ && !plan_.workers.empty() && preparation_.begin([this] { start_next(); })) {
      turn();
    }
  });
}

void WorkerStarter::start_next() {
  boost::asio::post(io_, std::bind_front(&WorkerStarter::turn, this));
}

std::optional<std::size_t> WorkerStarter::cancel() {
  const bool is_first = !is_cancelled_ && next_ < plan_.workers.size();
  is_cancelled_ = true;
  return is_first ? std::optional(next_) : std::nullopt;
}

void WorkerStarter::turn() {
  if (is_cancelled_ || next_ == plan_.workers.size()) {
    return;
  }
  const std::size_t worker = next_++;
  if (auto started = start_one(worker); !started) {
    is_cancelled_ = true;
    failure_ = StartFailure{worker, started.error()};
    on_failure(*failure_);
    return;
  }
  on_started(worker);
  start_next();
}

Result<> WorkerStarter::start_one(std::size_t worker) {
  const std::string program = TRY(preparation_.programs().of(worker));
  TRY(preparation_.error_files().prepared());
  const bool has_input_alone = reader_ == worker;
  const bool reads_input = has_input_alone || options_.input_for == InputFor::All;
  auto started = workers_.start(
      worker, {.executable = program,
               .standard_input = reads_input ? STDIN_FILENO : null_input_.get(),
               // The reader of the terminal stays in our session: from another one it could not be in the terminal's
               // foreground.
               .leads_session = !(has_input_alone && terminal_.is_wanted()),
               .terminal = has_input_alone ? terminal_.fd() : -1,
               .output = streams_.connection_of(worker),
               .connect = [this, worker](StreamEnds ends) { return streams_.connect(worker, std::move(ends)); }});
  if (started) {
    streams_.note_start(worker, workers_.pid(worker));
  }
  return started;
}

}  // namespace muster
