// Decides when a standby is made, used and given up, by the rules of standby/.
#include "agent/standbys.hpp"

#include "agent/free_memory.hpp"
#include "base/log.hpp"
#include "base/ranks.hpp"
#include "base/text.hpp"
#include "process/descendants.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <system_error>

namespace muster {
namespace {

constexpr const char* kNotImported = "its Python does not import sitecustomize from PYTHONPATH";
constexpr const char* kPendingName = "the end of the standbys";
/// An import that uses no CPU for this long waits for something, and its standby is given up.
constexpr std::chrono::seconds kStallLimit{30};
/// A standby that imports for longer is given up. Many imports take minutes where a process gets a quarter of a CPU.
constexpr std::chrono::minutes kImportLimit{15};
constexpr std::chrono::seconds kMemoryInterval{10};
/// Limit for a killed standby to end. One in a call that no signal ends is left to the guard.
constexpr std::chrono::seconds kEndLimit{2};
/// Time between looks at the answers of standbys that were to become workers.
constexpr std::chrono::milliseconds kLookInterval{100};
/// Time between looks at the notes of a worker that has not begun to import.
constexpr std::chrono::seconds kNotesInterval{1};
/// Size of a standby in bytes, until the first one is known: PyTorch alone takes 160 MB.
constexpr std::uint64_t kUsualSize = std::uint64_t{512} << 20U;

/// The folder of our file. Writes it each time: where the run folder is in shared memory, it may be removed while the job runs.
/// A Python that did not find the file would run the program.
Result<std::string> write_module(const std::string& run_folder) {
  std::string folder = run_folder + "/standby";
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) {
    return system_error("cannot make '" + folder + "'", failed.value());
  }
  TRY(write_whole_file(folder + "/sitecustomize.py", standby_module()));
  return folder;
}

/// Makes a file in memory whose size cannot change, for notes. Empty: the kernel refuses.
UniqueFd make_notes() {
  UniqueFd notes(::memfd_create("muster-imports", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const bool is_made = notes && ::ftruncate(notes.get(), standby::kMostNotes) == 0 &&
                       ::fcntl(notes.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) == 0;
  return is_made ? std::move(notes) : UniqueFd();
}

std::string read_notes(const UniqueFd& notes) {
  std::string text(notes ? standby::kMostNotes : 0, '\0');
  const ssize_t count = ::pread(notes.get(), text.data(), text.size(), 0);
  text.resize(std::min(text.find('\0'), static_cast<std::size_t>(std::max<ssize_t>(count, 0))));
  return text;
}

const std::vector<std::string>& words_of(const ImportFiles::Of& one) {
  return one.program.words;
}

}  // namespace

Standbys::Standbys(boost::asio::io_context& io, HelperProcesses& helpers, const RunContext& run, PendingWork& pending)
    : io_(io),
      run_(run),
      pending_(pending),
      spawner_(run.inherited),
      files_(io, helpers, run.variables),
      make_timer_(io),
      progress_timer_(io),
      memory_timer_(io),
      tell_timer_(io),
      size_(kUsualSize) {}

void Standbys::begin_wait(std::size_t workers, std::vector<Expected> expected) {
  if (has_ended_) {
    return;
  }
  is_waiting_ = true;
  workers_.resize(workers);
  std::vector<ImportFiles::Of> programs;
  for (Expected& one : expected) {
    Worker& here = workers_[one.worker];
    here.rank = one.rank;
    here.program = standby::find_python_program(one.request.argv);
    here.output = one.output;
    if (here.program && std::ranges::find(programs, here.program->words, words_of) == programs.end()) {
      programs.push_back(ImportFiles::of(*here.program, one.request));
    }
    here.request = std::move(one.request);
  }
  files_.read(programs, [this, programs](const std::vector<standby::Imports>& found) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      take_kept(programs[i].program.words, found[i]);
    }
    make_next();
  });
}

void Standbys::take_kept(const std::vector<std::string>& words, const standby::Imports& imports) {
  if (!imports.has_modules()) {
    log_debug("standbys: no imports are kept of '" + join(words, " ") + "'");
    return;
  }
  const std::vector<std::string>& given = *run_.options.standby.modules;
  imports_[words] = imports;
  imports_[words].steps = given.empty() ? imports.steps : given;
}

void Standbys::begin_attempt(const LaunchPlan& plan) {
  if (!are_wanted() || plan.is_transparent) {
    return;
  }
  if (std::exchange(is_waiting_, false)) {
    files_.cancel();
  }
  end_attempt();
  const std::size_t unfinished = making_ ? making_->worker : workers_.size();
  if (making_) {  // the workers need the CPU
    drop(workers_[unfinished]);
  }
  for (std::size_t i = plan.workers.size(); i < workers_.size(); ++i) {
    drop(workers_[i]);
  }
  workers_.resize(plan.workers.size());
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    workers_[i].rank = plan.workers[i].global_rank.value;
    workers_[i].program = standby::find_python_program(plan.workers[i].argv);
    workers_[i].why_none = i == unfinished ? "its imports were not done" : "no standby was made";
    workers_[i].request.reset();
    workers_[i].notes.reset();
  }
  if (plan.placement.attempt == 0 && !workers_.empty() &&
      std::ranges::none_of(workers_, [](const Worker& one) { return one.program.has_value(); })) {
    log_info("no standbys for '" + join(masked_arguments(plan.workers.front().argv), " ") +
             "': it does not begin with Python");
  }
  gain_ = {.attempt = plan.placement.attempt, .began = Clock::now()};
  has_told_ready_ = false;
  may_restart_ = plan.placement.restarts < run_.job.gang.config.options.restarts.max_restarts;
  make_later(run_.options.standby.after);
}

std::optional<StartedStandby> Standbys::take(std::size_t worker, const SpawnRequest& request,
                                             const OutputConnection& output) {
  if (worker >= workers_.size() || !workers_[worker].program) {
    return std::nullopt;
  }
  Worker& here = workers_[worker];
  here.request = request;
  here.output = output;
  if (!here.standby) {
    if (!living_.empty() || gain_.taken > 0) {
      gain_.cold[here.why_none].push_back(here.rank);
    }
    return std::nullopt;
  }
  const std::string obstacle = here.standby->obstacle(request, output);
  const pid_t pid = here.standby->pid();
  auto started = obstacle.empty() ? std::move(*here.standby).become(request) : std::nullopt;
  if (!started) {
    gain_.cold[obstacle.empty() ? "it had ended" : obstacle].push_back(here.rank);
    drop(here);
    return std::nullopt;
  }
  here.standby.reset();
  living_.erase(pid);
  ++gain_.taken;
  gain_.sockets.emplace_back(here.rank, std::move(started->socket));
  return started;
}

SpawnRequest Standbys::noting_imports(std::size_t worker, SpawnRequest request) {
  if (worker >= workers_.size() || !workers_[worker].program || !request.leads_session || run_.run_folder.empty()) {
    return request;
  }
  Worker& here = workers_[worker];
  const auto& words = here.program->words;
  if (imports_.contains(words) || refused_.contains(words) || find_noting(words) != nullptr) {
    return request;
  }
  here.notes = make_notes();
  if (const auto folder = write_module(run_.run_folder); here.notes && folder) {
    const auto what = run_.options.standby.modules->empty() ? "learn" : "answer";
    return standby::with_sitecustomize(std::move(request), *folder, what, here.notes.get());
  }
  here.notes.reset();
  return request;
}

void Standbys::note_start(std::size_t worker, pid_t pid) {
  if (worker < workers_.size()) {
    workers_[worker].pid = pid;
  }
}

// --- Making -------------------------------------------------------------------------------------

/// True if there is something to do for the worker: to learn what it imports, or to make its standby.
bool Standbys::is_open(const Worker& worker) const {
  if (!worker.program || !worker.request || worker.standby || refused_.contains(worker.program->words)) {
    return false;
  }
  const bool is_known = imports_.contains(worker.program->words);
  return is_waiting_ ? is_known : may_restart_ || !is_known;
}

void Standbys::make_next() {
  const auto worker = std::ranges::find_if(workers_, std::bind_front(&Standbys::is_open, this));
  if (worker == workers_.end()) {
    if (ready() > 0 && !std::exchange(has_told_ready_, true)) {
      log_info("standbys: " + count_of(ready(), "rank") + " can " +
               (is_waiting_ ? "start without importing" : "restart without importing again"));
    }
    return;
  }
  if (!imports_.contains(worker->program->words)) {
    learn_now(*worker);
  } else if (!have_room(run_.memory_group, size_)) {
    log_info("standbys: too little memory is free for one more; " + std::to_string(ready()) + " are ready");
  } else if (const auto made = make(static_cast<std::size_t>(worker - workers_.begin()), /*is_probe=*/true); !made) {
    refuse(*worker, made.error().message);
    make_later({});
  }
}

void Standbys::learn_now(Worker& worker) {
  const bool is_done = is_done_with_imports(worker);
  const Result<> learned = is_done ? learn(worker) : Result<>();
  if (!learned) {
    refuse(worker, learned.error().message);
  }
  make_later(is_done ? Clock::duration() : kNotesInterval);
}

void Standbys::make_later(Clock::duration delay) {
  make_timer_.start(delay, [this] { make_next(); });
}

/// Starts the probe of a worker's standby, or the standby.
Result<> Standbys::make(std::size_t worker, bool is_probe) {
  Worker& here = workers_[worker];
  if (!is_proc_ours()) {
    return Error{ErrorKind::System, "/proc does not show this machine's processes"};
  }
  const std::string folder = TRY(write_module(run_.run_folder));
  if (folder.find(':') != std::string::npos) {
    return Error{ErrorKind::System, "PYTHONPATH cannot name '" + folder + "'"};
  }
  SpawnRequest request = *here.request;
  request.argv = is_probe ? standby::harmless_words(*here.program) : request.argv;
  auto process = TRY(StandbyProcess::start(spawner_, request, here.output, folder));
  watch(*process);
  making_.emplace(StandbyInProgress{worker, {}, Descriptor(io_, ::fcntl(process->socket(), F_DUPFD_CLOEXEC, 3))});
  (is_probe ? making_->probe : here.standby) = std::move(process);
  read_answer();
  progress_timer_.start(kStallLimit, [this] { check_progress(); });
  if (!memory_timer_.is_pending()) {
    memory_timer_.start(kMemoryInterval, [this] { check_memory(); });
  }
  const standby::Imports& imports = imports_.at(here.program->words);
  return is_probe ? making_->probe->send_imports({}, true)
                  : here.standby->send_imports(imports, !run_.options.standby.modules->empty());
}

StandbyProcess& Standbys::process_in(StandbyInProgress& making) {
  return making.probe ? *making.probe : *workers_[making.worker].standby;
}

/// The worker of the program that takes notes; null: none does.
const Standbys::Worker* Standbys::find_noting(const std::vector<std::string>& words) const {
  const auto noting =
      std::ranges::find_if(workers_, [&](const Worker& one) { return one.notes && one.program->words == words; });
  return noting == workers_.end() ? nullptr : &*noting;
}

/// The pid of a worker of the program that takes notes, and what it has noted. Empty: none has notes.
std::pair<pid_t, standby::Imports> Standbys::notes_about(const standby::PythonProgram& program) const {
  const Worker* const noting = find_noting(program.words);
  return noting == nullptr ? std::pair<pid_t, standby::Imports>(-1, {})
                           : std::pair(noting->pid, standby::read_imports(read_notes(noting->notes)));
}

/// True unless the worker that takes notes still imports, or may not have begun to, and has time left for it.
bool Standbys::is_done_with_imports(const Worker& worker) const {
  const auto [pid, imports] = notes_about(*worker.program);
  if (imports.process > 0 && (imports.process != pid || !run_.options.standby.modules->empty())) {
    return true;
  }
  const bool has_noted = imports.process > 0 && (imports.has_modules() || !imports.end.empty());
  const bool is_late = Clock::now() - gain_.began > run_.options.standby.after + kStallLimit;
  const bool is_too_late = Clock::now() - gain_.began > run_.options.standby.after + kImportLimit;
  return is_too_late || (!imports.is_loading && (has_noted || is_late));
}

/// Takes the imports of the program, as far as a worker has noted them, and keeps them for later jobs. Fails if its Python has not
/// imported our file.
Result<> Standbys::learn(const Worker& worker) {
  auto [pid, imports] = notes_about(*worker.program);
  if (imports.process != pid || pid < 0) {
    return Error{ErrorKind::System, kNotImported};
  }
  const auto& given = *run_.options.standby.modules;
  imports.steps = given.empty() ? imports.steps : given;
  if (!imports.has_modules()) {
    return Error{ErrorKind::System, "it imports nothing that can be imported ahead" +
                                        (imports.end.empty() ? "" : ": before its first import " + imports.end)};
  }
  if (given.empty() && !imports.is_loading) {
    const Worker& noting = *find_noting(worker.program->words);
    files_.write(ImportFiles::of(*noting.program, *noting.request), read_notes(noting.notes));
  }
  imports_[worker.program->words] = std::move(imports);
  return {};
}

void Standbys::read_answer() {
  making_->answers.async_read_some(
      boost::asio::buffer(making_->buffer),
      [this, pid = process_in(*making_).pid()](const boost::system::error_code& error, std::size_t size) {
        const bool is_over = !making_ || process_in(*making_).pid() != pid;
        if (is_over || error == boost::asio::error::operation_aborted) {
          return;
        }
        making_->answer.append(making_->buffer.data(), size);
        constexpr std::size_t kMostAnswer = 4096;
        const std::size_t end = making_->answer.find('\n');
        if (end == std::string::npos && !error && making_->answer.size() < kMostAnswer) {
          read_answer();
        } else {
          take_answer(making_->answer.substr(0, std::min(end, making_->answer.size())));
        }
      });
}

void Standbys::take_answer(const std::string& answer) {
  const bool has_answered = answer == "ready" || answer.starts_with("no ");
  const std::size_t worker = making_->worker;
  if (!making_->probe) {
    end_making(worker, answer == "ready" ? ""
                       : has_answered    ? answer.substr(3)
                                         : "the standby ended during its imports");
    return;
  }
  making_.reset();
  const Result<> made =
      has_answered ? make(worker, /*is_probe=*/false) : Result<>(Error{ErrorKind::System, kNotImported});
  if (!made) {
    end_making(worker, made.error().message);
  }
}

void Standbys::end_making(std::size_t index, const std::string& why_not) {
  Worker& worker = workers_[index];
  progress_timer_.cancel();
  making_.reset();
  if (why_not.empty()) {
    worker.standby->note_ready();
    size_ = std::max(size_ == kUsualSize ? 0 : size_, resident_bytes(worker.standby->pid()).value_or(0));
  } else {
    refuse(worker, why_not);
  }
  make_next();
}

void Standbys::check_progress() {
  const auto process = find_process(process_in(*making_).pid());
  const bool is_slow = Clock::now() - making_->began > kImportLimit;
  if (process && process->cpu_ticks > making_->cpu_ticks && !is_slow) {
    making_->cpu_ticks = process->cpu_ticks;
    progress_timer_.start(kStallLimit, [this] { check_progress(); });
    return;
  }
  end_making(making_->worker, is_slow ? "its imports take longer than 15 min" : "its imports use no CPU for 30 s");
}

void Standbys::check_memory() {
  const bool has_standbys = std::ranges::any_of(workers_, [](const Worker& one) { return one.standby != nullptr; });
  if (!has_standbys) {
    return;
  }
  memory_timer_.start(kMemoryInterval, [this] { check_memory(); });
  if (!have_room(run_.memory_group, 0)) {
    log_info("standbys: little memory is left, so they are ended");
    make_timer_.cancel();
    drop_all();
  }
}

void Standbys::refuse(Worker& worker, const std::string& why) {
  log_info("no standbys for '" + join(worker.program->words, " ") + "': " + why);
  refused_.insert(worker.program->words);
  drop(worker);
}

// --- Ending -------------------------------------------------------------------------------------

void Standbys::watch(const StandbyProcess& standby) {
  const auto [watched, is_new] =
      living_.emplace(standby.pid(), Descriptor(io_, ::fcntl(standby.pidfd(), F_DUPFD_CLOEXEC, 3)));
  const auto on_end = [this, pid = standby.pid()](const boost::system::error_code& error) {
    if (error) {
      return;  // it has become a worker
    }
    living_.erase(pid);
    if (living_.empty() && has_ended_) {
      make_timer_.cancel();
      pending_.remove(kPendingName);
    }
  };
  watched->second.async_wait(Descriptor::wait_read, on_end);
}

void Standbys::drop(Worker& worker) {
  if (making_ && &workers_[making_->worker] == &worker) {
    making_.reset();
    progress_timer_.cancel();
  }
  worker.standby.reset();
}

void Standbys::drop_all() {
  std::ranges::for_each(workers_, std::bind_front(&Standbys::drop, this));
}

void Standbys::end_attempt() {
  make_timer_.cancel();
  tell_timer_.cancel();
  if (gain_.taken > 0 || !gain_.cold.empty()) {
    tell_gain();
  }
}

void Standbys::end() {
  end_attempt();
  has_ended_ = true;
  files_.cancel();
  memory_timer_.cancel();
  drop_all();
  if (!living_.empty()) {
    pending_.add(kPendingName);
    make_timer_.start(kEndLimit, [this] {
      log_warning("a standby does not end though it was killed: pid " + std::to_string(living_.begin()->first));
      pending_.remove(kPendingName);
    });
  }
}

std::set<pid_t> Standbys::pids() const {
  std::set<pid_t> pids;
  for (const auto& [pid, pidfd] : living_) {
    pids.insert(pid);
  }
  return pids;
}

std::size_t Standbys::ready() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(workers_, [](const Worker& one) { return one.standby && one.standby->is_ready(); }));
}

// --- Sentences ----------------------------------------------------------------------------------

void Standbys::note_first_line() {
  const double seconds = std::chrono::duration<double>(Clock::now() - gain_.began).count();
  if (!are_wanted() || gain_.is_told || !gain_.first_line.empty()) {
    return;
  }
  if (gain_.taken == 0 && gain_.cold.empty()) {
    last_cold_ = {gain_.attempt, seconds};
    gain_.is_told = true;
    return;
  }
  gain_.first_line = ", first line after " + format_seconds(seconds) + " s";
  if (last_cold_) {
    gain_.first_line +=
        " (attempt " + std::to_string(last_cold_->first) + ": " + format_seconds(last_cold_->second) + " s)";
  }
  tell_gain_soon();
}

/// Looks until every standby has answered. One that has to start its program as any process does sends the reason; one that
/// becomes the worker only closes its socket.
void Standbys::tell_gain_soon() {
  constexpr int kMostLooks = 20;
  if (take_answers() || ++gain_.looks > kMostLooks) {
    tell_gain();
  } else {
    tell_timer_.start(kLookInterval, [this] { tell_gain_soon(); });
  }
}

/// Reads the answers of standbys that became workers. True if all have answered.
bool Standbys::take_answers() {
  std::erase_if(gain_.sockets, [this](const auto& one) {
    std::array<char, 512> said{};
    const ssize_t size = ::recv(one.second.get(), said.data(), said.size(), MSG_DONTWAIT);
    const std::string_view answer(said.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    if (answer.starts_with("no ")) {
      gain_.cold[std::string(answer.substr(3, answer.find('\n') - 3))].push_back(one.first);
      --gain_.taken;
    }
    return size >= 0 || errno != EAGAIN;
  });
  return gain_.sockets.empty();
}

void Standbys::tell_gain() {
  if (std::exchange(gain_.is_told, true)) {
    return;
  }
  (void)take_answers();
  std::string text = "attempt " + std::to_string(gain_.attempt) + ": " + std::to_string(gain_.taken) + " of " +
                     count_of(workers_.size(), "rank") + " from standby" + gain_.first_line;
  for (const auto& [why, ranks] : gain_.cold) {
    text += "; " + describe_ranks(ranks) + " started cold: " + why;
  }
  log_info(text);
}

}  // namespace muster
