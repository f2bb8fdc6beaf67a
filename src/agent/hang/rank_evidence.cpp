// Describes each worker by its Python program, else by its main process.
#include "agent/hang/rank_evidence.hpp"

#include "agent/hang/builtin_wait.hpp"
#include "agent/hang/child_waits.hpp"
#include "agent/hang/recorder_dumps.hpp"
#include "base/file_io.hpp"
#include "base/text.hpp"
#include "environment/mounted_files.hpp"
#include "hang/nccl_ras.hpp"
#include "hang/occupation.hpp"
#include "hang/process_memory.hpp"
#include "hang/py_spy.hpp"
#include "process/descendants.hpp"
#include "process/helper_process.hpp"
#include "process/rights.hpp"
#include "process/run_program.hpp"
#include "process/spawn.hpp"

#include <poll.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>

namespace muster {
namespace {

/// Longest time for reading the ranks of this node. A rank that can be read, but gets no CPU, may take longer.
constexpr std::chrono::milliseconds kTimeForRanks{1'200};
/// Time for the reader of a rank to send its answer: it stops reading so much earlier.
constexpr std::chrono::milliseconds kTimeToAnswer{100};
/// Time for NCCL's answer, added to that for the ranks.
constexpr std::chrono::milliseconds kTimeForNccl{300};

using Clock = std::chrono::steady_clock;

std::string proc_file(pid_t process, const char* name) {
  return "/proc/" + std::to_string(process) + "/" + name;
}

/// The kernel function in which a thread waits, by its folder in /proc.
std::string kernel_function_in(const std::string& folder) {
  const std::string function = first_line(folder + "wchan");
  return function == "0" ? "" : function.substr(0, function.find('.'));
}

/// The number behind a name in a file of "name: number" lines; 0: there is none.
std::uint64_t number_at(const std::map<std::string, std::string>& fields, const char* name) {
  return std::strtoull(value_at(fields, name).c_str(), nullptr, 10);
}

Result<hang::Stack> read_stack(pid_t process) {
  return read_as(process, hang::read_stack);
}

/// The program that does the work of a rank.
struct Program {
  Process process;
  Result<hang::Stack> stack;
};

bool is_python(const Program& program) {
  return program.stack || program.stack.error().kind != ErrorKind::NotFound;
}

/// True for a Python that waits for a program that it has started.
bool waits_for_program(const Program& program) {
  return program.stack && !program.stack->empty() && program.stack->front().file.ends_with("/subprocess.py");
}

std::vector<Process> children_of(const std::vector<Process>& parents, const std::vector<Process>& all) {
  std::vector<Process> children;
  std::ranges::copy_if(all, std::back_inserter(children), [&](const Process& child) {
    return std::ranges::find(parents, child.parent, &Process::pid) != parents.end();
  });
  return children;
}

/// The Python that has used the most CPU time; the last one of equals; empty: there is no Python.
std::optional<Program> find_busiest(const std::vector<Process>& processes) {
  std::optional<Program> busiest;
  for (const Process& process : processes) {
    Program program{process, read_stack(process.pid)};
    if (is_python(program) && (!busiest || process.cpu_ticks >= busiest->process.cpu_ticks)) {
      busiest = std::move(program);
    }
  }
  return busiest;
}

/// The busiest one of the nearest Pythons below a process.
std::optional<Program> find_below(const Process& top, const std::vector<Process>& all) {
  std::optional<Program> busiest;
  std::vector<Process> generation = children_of({top}, all);
  while (!generation.empty() && !busiest) {
    busiest = find_busiest(generation);
    generation = children_of(generation, all);
  }
  return busiest;
}

/// The worker, or the Python that works for it: below a shell, or below a Python that waits in `subprocess`.
Program find_program(const Process& worker, const std::vector<Process>& below) {
  Program found{worker, read_stack(worker.pid)};
  while (!is_python(found) || waits_for_program(found)) {
    auto next = find_below(found.process, below);
    if (!next) {
      break;
    }
    found = std::move(*next);
  }
  return found;
}

std::uint64_t milliseconds_of(unsigned long ticks) {
  constexpr std::uint64_t kMilliseconds = 1'000;
  return ticks * kMilliseconds / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
}

std::uint64_t io_bytes_of(pid_t process) {
  const auto io = read_fields(proc_file(process, "io"));
  return number_at(io, "rchar") + number_at(io, "wchar");
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

/// The fields of a thread in proc_pid_stat(5) from its state on, behind the name, which may have any characters.
std::vector<std::string> stat_of(const std::string& task) {
  const std::string stat = first_line(task + "stat");
  return words_of(stat.substr(std::min(stat.rfind(')') + 1, stat.size())));
}

/// CPU time of a thread. Where the kernel keeps no statistics of its own for the scheduler, that of the process.
std::uint64_t cpu_ms_of(const std::string& task, const Process& process) {
  constexpr std::uint64_t kNanoseconds = 1'000'000;
  const std::uint64_t nanoseconds = std::strtoull(first_line(task + "schedstat").c_str(), nullptr, 10);
  return nanoseconds > 0 ? nanoseconds / kNanoseconds : milliseconds_of(process.cpu_ticks);
}

/// Tells apart what a thread in read(2) reads: standard input or a terminal, or a pipe without a name. The text
/// follows the kernel's function; empty: it reads neither.
std::string_view kind_of_read(pid_t process, const std::string& task) {
  const std::vector<std::string> call = words_of(first_line(task + "syscall"));
  if (call.size() < 2 || call[0] != std::to_string(SYS_read)) {
    return {};
  }
  constexpr int kHexadecimal = 16;
  const std::string file = "fd/" + std::to_string(std::strtoul(call[1].c_str(), nullptr, kHexadecimal));
  std::error_code failed;
  const std::string path = std::filesystem::read_symlink(proc_file(process, file.c_str()), failed).string();
  if (file == "fd/0" || path.starts_with("/dev/pts/") || path.starts_with("/dev/tty")) {
    return hang::kOfInput;
  }
  return path.starts_with("pipe:") ? hang::kOfPipe : std::string_view();
}

/// The folder of a thread in /proc.
std::string task_of(pid_t process, std::uint64_t thread) {
  return proc_file(process, "task/") + std::to_string(thread) + "/";
}

/// Time for which the other threads of a process have run or waited for a CPU, as the scheduler counts it. On a busy
/// machine a thread may compute for long before it has used much.
std::uint64_t threads_ms_of(pid_t process, std::uint64_t thread) {
  constexpr std::uint64_t kNanoseconds = 1'000'000;
  constexpr int kMost = 512;
  std::uint64_t sum = 0;
  std::error_code failed;
  int seen = 0;
  for (std::filesystem::directory_iterator task(proc_file(process, "task"), failed), end;
       !failed && task != end && seen < kMost; task.increment(failed), ++seen) {
    const std::vector<std::string> times = words_of(first_line(task->path().string() + "/schedstat"));
    if (times.size() > 1 && task->path().filename() != std::to_string(thread)) {
      sum += std::strtoull(times[0].c_str(), nullptr, 10) + std::strtoull(times[1].c_str(), nullptr, 10);
    }
  }
  return sum / kNanoseconds;
}

/// `place` and `counters` of a thread.
hang::RankEvidence describe_running(const Process& program, std::uint64_t thread, const std::vector<Process>& below) {
  const std::string task = task_of(program.pid, thread);
  constexpr std::size_t kMajorFaults = 9;  // the field of page faults that had to read from a disk
  const std::vector<std::string> stat = stat_of(task);
  hang::RankEvidence evidence;
  evidence.pid = program.pid;
  evidence.place.state = stat.empty() ? program.state : stat.front().front();
  evidence.place.wait = kernel_function_in(task) + std::string(kind_of_read(program.pid, task));
  for (const Process& process : below) {
    if (process.pid != program.pid) {
      evidence.counters.children_ms += milliseconds_of(process.cpu_ticks);
      evidence.counters.io_bytes += io_bytes_of(process.pid);
    }
  }
  evidence.counters.switches = number_at(read_fields(task + "status"), "voluntary_ctxt_switches");
  evidence.counters.cpu_ms = cpu_ms_of(task, program);
  evidence.counters.threads_ms = threads_ms_of(program.pid, thread);
  evidence.counters.page_reads =
      stat.size() > kMajorFaults ? std::strtoull(stat[kMajorFaults].c_str(), nullptr, 10) : 0;
  evidence.counters.io_bytes += io_bytes_of(program.pid);
  return evidence;
}

/// The inodes of its sockets, as far as it may be looked at.
std::set<std::string> sockets_of(pid_t process) {
  constexpr std::string_view kSocket = "socket:[";
  constexpr std::size_t kMost = 10'000;
  std::set<std::string> inodes;
  std::error_code failed;
  std::size_t seen = 0;
  for (std::filesystem::directory_iterator file(proc_file(process, "fd"), failed), end;
       !failed && file != end && seen < kMost; file.increment(failed), ++seen) {
    std::error_code gone;
    const std::string link = std::filesystem::read_symlink(file->path(), gone).string();
    if (link.starts_with(kSocket)) {
      inodes.insert(link.substr(kSocket.size(), link.size() - kSocket.size() - 1));
    }
  }
  return inodes;
}

/// The queues of those sockets in a table that have bytes to send, as one text.
std::string sending_in(const std::string& table, const std::set<std::string>& sockets) {
  constexpr std::size_t kQueues = 4;  // "00000000:00000000", see proc_net_tcp(5)
  constexpr std::size_t kInode = 9;
  constexpr int kMostLines = 20'000;
  std::string waiting;
  std::ifstream lines(table);
  std::string line;
  for (int i = 0; i < kMostLines && std::getline(lines, line); ++i) {
    const std::vector<std::string> fields = words_of(line);
    if (fields.size() > kInode && sockets.contains(fields[kInode]) && !fields[kQueues].starts_with("00000000:")) {
      waiting += fields[kInode] + " " + fields[kQueues].substr(0, fields[kQueues].find(':')) + "\n";
    }
  }
  return waiting;
}

/// A number that changes when the bytes change that wait in the process's TCP sockets to be sent; 0: none wait.
std::uint64_t sending_of(pid_t process) {
  const std::set<std::string> sockets = sockets_of(process);
  const std::string waiting = sockets.empty() ? ""
                                              : sending_in(proc_file(process, "net/tcp"), sockets) +
                                                    sending_in(proc_file(process, "net/tcp6"), sockets);
  return waiting.empty() ? 0 : std::hash<std::string>()(waiting) >> 1U;  // JSON's numbers have a sign
}

/// The folders where the Python of the process has its programs, then the folders of its PATH. The first argument of the
/// process names the folder of its virtual environment; the executable is in the folder of the Python to which that
/// environment links.
std::string search_path_of(pid_t process) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
  std::string path = std::filesystem::path(read_untrusted_file(proc_file(process, "cmdline"), kMostBytes).c_str())
                         .parent_path()
                         .string();
  std::error_code failed;
  path += ":" + std::filesystem::read_symlink(proc_file(process, "exe"), failed).parent_path().string();
  for (const std::string& entry : split(read_untrusted_file(proc_file(process, "environ"), kMostBytes), '\0')) {
    path += entry.starts_with("PATH=") ? ":" + entry.substr(5) : "";
  }
  std::vector<std::string> folders = split(path, ':');
  std::erase_if(folders, [](const std::string& folder) { return !folder.starts_with('/'); });  // we are in another one
  return join(folders, ":");
}

/// Makes the command of py-spy, which does not stop the process. py-spy gets only the rights of the process, because
/// its path comes from there. Fails if these rights change meanwhile: then nobody knows which of them py-spy should
/// get.
Result<ProgramRequest> request_for_py_spy(pid_t process, Clock::time_point deadline) {
  const Rights own = TRY(rights_of(::getpid()));
  const Rights before = TRY(rights_of(process));
  const auto rights = rights_for_program(own, before);
  if (!rights) {
    return Error{ErrorKind::System, "py-spy is not asked: " + rights.error().message};
  }
  const bool is_beside_us = container_of(process) == container_of(::getpid());
  if (!is_in_our_user_namespace(process) || (*rights && !is_beside_us)) {
    return Error{ErrorKind::NotFound, "py-spy is not asked: it is in a container of its own"};
  }
  const std::string program =
      TRY(read_as(process, [](pid_t one) { return find_executable("py-spy", search_path_of(one)); }));
  if (TRY(rights_of(process)) != before) {
    return Error{ErrorKind::System, "py-spy is not asked: its rights change"};
  }
  return ProgramRequest{.command = {program, "dump", "--json", "--nonblocking", "--pid", std::to_string(process)},
                        .end = deadline,
                        .rights = *rights};
}

/// Counts questions in memory that processes share; null: nobody wants the count.
void count(hang::AskedCounts* asked, hang::Question question, std::size_t times = 1) {
  if (asked != nullptr) {
    std::atomic_ref(asked->at(static_cast<std::size_t>(question))).fetch_add(times);
  }
}

/// State that the readers of a node's ranks share; empty where no memory can be shared.
struct Shared {
  sem_t py_spies;  ///< that may still be started
  int watched;     ///< ranks that are looked at again
  hang::AskedCounts* asked;
};

/// Limit of the runs of py-spy at the same time on a node: each takes a CPU for a moment.
constexpr unsigned kMostPySpies = 4;

/// Waits until a run of py-spy may start, and lets the next one start when it is destroyed.
class PySpyTurn {
 public:
  PySpyTurn(Shared* shared, Clock::time_point deadline) : shared_(shared) {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch()).count();
    constexpr std::int64_t kSecond = 1'000'000'000;
    const timespec until{left / kSecond, left % kSecond};
    has_come_ = shared_ != nullptr && ::sem_clockwait(&shared_->py_spies, CLOCK_MONOTONIC, &until) == 0;
  }
  PySpyTurn(const PySpyTurn&) = delete;
  PySpyTurn& operator=(const PySpyTurn&) = delete;
  ~PySpyTurn() {
    if (has_come_) {
      (void)::sem_post(&shared_->py_spies);
    }
  }
  bool has_come() const { return has_come_; }

 private:
  Shared* shared_;
  bool has_come_ = false;
};

/// Asks py-spy for the threads of a Python that our own reader does not know. The main thread comes first.
Result<std::vector<hang::Thread>> ask_py_spy(pid_t process, const std::string& why, Shared* shared,
                                             Clock::time_point deadline) {
  const PySpyTurn turn(shared, deadline);
  if (!turn.has_come()) {
    return Error{ErrorKind::System, "py-spy has not answered in time"};
  }
  const auto request = request_for_py_spy(process, deadline);
  if (!request) {
    return Error{ErrorKind::System, why + "; " + request.error().message};
  }
  count(shared->asked, hang::Question::PySpy);
  const auto answer = TRY(run_program(*request));
  return answer.end == ProgramAnswer::End::ByItself
             ? hang::read_py_spy(answer.said, static_cast<std::uint64_t>(process))
             : Error{ErrorKind::System, "py-spy has not answered in time"};
}

bool may_compute(const hang::RankEvidence& rank) {
  const hang::Place& place = rank.place;
  return !place.stack.empty() && place.state != 'D' && place.state != 'T' && hang::may_compute(place.stack);
}

/// Looks again and again for a moment at a rank that may compute: a program that does calls other functions each time,
/// unlike one that hangs.
void watch_calls(hang::RankEvidence& rank, std::uint64_t thread, Clock::time_point deadline) {
  constexpr int kTimesWhenRunning = 50;
  constexpr int kTimesWhenAsleep = 6;  // few, because a thread that sleeps stays at one place
  constexpr int kPauseMs = 4;
  const auto python = read_as(rank.pid, hang::PythonProcess::find);
  const int most = !python ? 0 : rank.place.state == 'R' ? kTimesWhenRunning : kTimesWhenAsleep;
  for (int times = 0; times < most && !rank.is_active && Clock::now() < deadline; ++times) {
    (void)::poll(nullptr, 0, kPauseMs);
    const auto stack = python->read_stack(thread);
    rank.is_active = stack && !hang::are_same_calls(*stack, rank.place.stack);
  }
}

/// Asks py-spy again and again where the rank is, as `watch_calls` does by reading.
void ask_about_calls(hang::RankEvidence& rank, std::uint64_t thread, Shared* shared, Clock::time_point deadline) {
  constexpr int kMostTimes = 8;  // each takes some 50 ms of CPU time
  constexpr int kPauseMs = 4;    // ranks that wait for their first turn go before
  for (int times = 0; times < kMostTimes && !rank.is_active && Clock::now() < deadline; ++times) {
    (void)::poll(nullptr, 0, kPauseMs);
    const auto threads = ask_py_spy(rank.pid, "", shared, deadline);
    rank.is_active = threads && std::ranges::any_of(*threads, [&](const hang::Thread& one) {
                       return one.id == thread && !hang::are_same_calls(one.stack, rank.place.stack);
                     });
  }
}

/// Limit of the ranks that are looked at again. If more wait for nobody, no single one decides the judgement.
constexpr int kMostWatched = 8;

/// The threads of a program that can be read: first the main one, and the others if it leaves its work to them.
Result<std::vector<hang::Thread>> read_threads(const Program& program, const std::set<hang::Question>& may,
                                               Shared* shared, Clock::time_point deadline) {
  const pid_t pid = program.process.pid;
  const auto main = static_cast<std::uint64_t>(pid);
  if (!program.stack) {
    const bool asks_py_spy = program.stack.error().kind == ErrorKind::BadData && may.contains(hang::Question::PySpy);
    return asks_py_spy ? ask_py_spy(pid, program.stack.error().message, shared, deadline) : program.stack.error();
  }
  std::vector<hang::Thread> threads{{main, *program.stack}};
  const auto python = read_as(pid, hang::PythonProcess::find);
  if (!python || !hang::leaves_work_to_threads(threads.front().stack)) {
    return threads;
  }
  for (const std::uint64_t id : python->threads()) {
    auto stack = id == main || threads.size() == hang::kMostThreads ? Result<hang::Stack>(hang::Stack())
                                                                    : python->read_stack(id);
    if (stack && !stack->empty()) {
      threads.push_back({id, std::move(*stack)});
    }
  }
  return threads;
}

hang::RankEvidence read_rank(const Process& worker, const std::vector<Process>& all,
                             const std::set<hang::Question>& may, Shared* shared, Clock::time_point deadline) {
  const std::vector<Process> below = descendants(all, worker.pid, {});
  const Program program = may.contains(hang::Question::Stacks)
                              ? find_program(worker, below)
                              : Program{worker, Error{ErrorKind::BadData, "--hang-ask has no stacks"}};
  const pid_t pid = program.process.pid;
  const ChildWaits before = read_child_waits(pid, below);
  if (program.stack && shared != nullptr) {
    count(shared->asked, hang::Question::Stacks);
  }
  auto threads = read_threads(program, may, shared, deadline);
  if (!threads) {
    hang::RankEvidence rank = describe_running(program.process, static_cast<std::uint64_t>(pid), below);
    rank.place.no_stack = threads.error().message;
    return rank;
  }
  for (hang::Thread& thread : *threads) {
    thread.cpu_ms = cpu_ms_of(task_of(pid, thread.id), program.process);
  }
  hang::Thread& thread = (*threads)[hang::find_training_thread(*threads)];
  hang::RankEvidence rank = describe_running(program.process, thread.id, below);
  rank.place.stack = std::move(thread.stack);
  add_builtin_wait(rank);
  if (!may_compute(rank)) {
    return rank;
  }
  rank.counters.sending = sending_of(pid);
  const bool is_older = !program.stack;
  if ((!is_older || rank.place.state == 'R') && shared != nullptr &&
      std::atomic_ref(shared->watched).fetch_add(1) < kMostWatched) {
    is_older ? ask_about_calls(rank, thread.id, shared, deadline) : watch_calls(rank, thread.id, deadline);
  }
  rank.is_active = rank.is_active || have_waited_often(before, pid, below, deadline);
  return rank;
}

/// Reads each rank in a process of its own: a reader hangs as long as the pages or files of its rank do, and must not
/// hold up the others.
class RankReaders {
 public:
  RankReaders(const EvidenceSources& sources, std::chrono::milliseconds time, std::chrono::milliseconds extra_time)
      : may_(sources.may), end_(Clock::now() + time), extra_time_(extra_time), shared_(share_array<Shared>(1)) {
    if (shared_) {
      shared_->get()->asked = sources.asked;
      (void)::sem_init(&shared_->get()->py_spies, /*pshared=*/1, kMostPySpies);
    }
  }

  void start(std::size_t rank, const Process& worker, const std::vector<Process>& all) {
    const auto read = [=, this, &all, shared = shared_ ? shared_->get() : nullptr, deadline = end_ - kTimeToAnswer] {
      const hang::RankEvidence found = read_rank(worker, all, may_, shared, deadline);
      end_orphans_of_helper();
      return hang::to_line({.ranks = {found}}, kMostBytes);
    };
    readers_.push_back({rank, worker, HelperAnswer::start(read)});
  }

  void take_answers(std::vector<hang::RankEvidence>& ranks) {
    for (Reader& reader : readers_) {
      hang::RankEvidence& rank = ranks[reader.rank];
      auto answer = reader.answer ? hang::join_lines({reader.answer->take(end_, extra_time_).value_or("")}).ranks
                                  : std::vector<hang::RankEvidence>{};
      if (!answer.empty()) {
        rank = std::move(answer.front());
      } else {
        rank.pid = reader.worker.pid;
        rank.place.state = reader.worker.state;
        rank.place.wait = kernel_function_of(rank.pid);
        rank.place.no_stack = "its memory could not be read in time";
      }
    }
  }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20U;
  struct Reader {
    std::size_t rank;
    Process worker;
    Result<HelperAnswer> answer;
  };

  const std::set<hang::Question>& may_;
  Clock::time_point end_;
  std::chrono::milliseconds extra_time_;
  Result<SharedArray<Shared>> shared_;
  std::vector<Reader> readers_;
};

std::vector<pid_t> processes_of(const std::vector<hang::RankEvidence>& ranks) {
  std::vector<pid_t> processes;
  for (const hang::RankEvidence& rank : ranks) {
    if (rank.pid > 0) {
      processes.push_back(rank.pid);
    }
  }
  return processes;
}

double quiet_seconds(const control::WorkerStatus& worker) {
  const double since = std::max(control::now_since_1970() - worker.since, 0.0);
  return std::min({since, worker.output_age.value_or(since), worker.heartbeat_age.value_or(since)});
}

/// Adds NCCL's answer. Its counts are used only where no recorder has told more.
void add_nccl(hang::Evidence& gathered, const EvidenceSources& sources, Clock::time_point end) {
  NcclAnswer nccl = ask_nccl(sources.nccl, processes_of(gathered.ranks), std::max(end, Clock::now() + kTimeForNccl));
  count(sources.asked, hang::Question::Nccl, nccl.told.empty() ? 0 : 1);
  gathered.nccl = std::move(nccl.sentence);
  if (gathered.progress.empty()) {
    gathered.progress = hang::to_progress(hang::parse_ras(nccl.told), sources.nccl.world_size);
  }
}

}  // namespace

hang::Evidence gather_evidence(const control::NodeStatus& status, const EvidenceSources& sources) {
  constexpr double kMilliseconds = 1'000;
  const std::chrono::milliseconds most_time = sources.most_time * 4 / 5;  // the rest: NCCL, answer
  const std::chrono::milliseconds time = std::min(kTimeForRanks, most_time);
  const auto deadline = Clock::now() + time + kTimeForNccl;
  const std::vector<int> recorders = find_recorders(status, sources.recorder_folders);
  std::vector<int> asked;
  if (sources.asks_recorders) {
    asked = ask_recorders(recorders, sources.recorder_folders);  // first: they need a second
    count(sources.asked, hang::Question::Recorder, asked.size());
  }
  const std::vector<Process> all = read_processes();
  hang::Evidence gathered{.ranks = {}, .quiet = quiet_seconds(status).all};
  gathered.has_idle_recorders = !recorders.empty() && !sources.asks_recorders;
  RankReaders readers(sources, time, most_time - time);
  for (const control::WorkerStatus& worker : status.workers) {
    hang::RankEvidence& evidence = gathered.ranks.emplace_back();
    const auto running = std::ranges::find(all, worker.pid, &Process::pid);
    if (worker.pid > 0 && !worker.is_alive) {
      evidence.place.end = worker.state;
    } else if (worker.pid <= 0 || running == all.end()) {
      evidence.place.no_stack = worker.pid <= 0 ? "it is not started yet" : "/proc does not show its process";
    } else {
      readers.start(gathered.ranks.size() - 1, *running, all);
    }
  }
  readers.take_answers(gathered.ranks);
  end_orphans_of_helper();
  for (std::size_t i = 0; i < status.workers.size(); ++i) {
    gathered.ranks[i].rank = status.workers[i].global_rank;
    gathered.ranks[i].host = status.host;
    gathered.ranks[i].quiet_ms = static_cast<std::uint64_t>(quiet_seconds(status.workers[i]) * kMilliseconds);
  }
  const auto end = std::max(deadline, Clock::now() + kTimeForNccl);
  gathered.progress = read_dumps(asked, sources.recorder_folders, end);
  const auto zero = std::ranges::find(status.workers, 0, &control::WorkerStatus::global_rank);
  if (sources.nccl.is_wished && zero != status.workers.end()) {
    add_nccl(gathered, sources, end);
  }
  return gathered;
}

std::string kernel_function_of(pid_t process) {
  return kernel_function_in(proc_file(process, ""));
}

QuietSeconds quiet_seconds(const control::NodeStatus& status) {
  constexpr double kMost = std::numeric_limits<double>::max();
  QuietSeconds quiet{kMost, kMost};
  for (const control::WorkerStatus& worker : status.workers) {
    const double one = quiet_seconds(worker);
    quiet.others = std::min(quiet.others, std::max(one, quiet.all));
    quiet.all = std::min(quiet.all, one);
  }
  return quiet.others == kMost ? QuietSeconds{quiet.all, quiet.all} : quiet;
}

}  // namespace muster
