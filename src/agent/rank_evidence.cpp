// Describes each worker by its Python program, else by its main process.
#include "agent/rank_evidence.hpp"

#include "agent/recorder_dumps.hpp"
#include "base/file_io.hpp"
#include "base/text.hpp"
#include "environment/mounted_files.hpp"
#include "hang/nccl_ras.hpp"
#include "hang/process_memory.hpp"
#include "hang/py_spy.hpp"
#include "process/descendants.hpp"
#include "process/helper_process.hpp"
#include "process/helper_program.hpp"
#include "process/rights.hpp"
#include "process/spawn.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace muster {
namespace {

/// For each rank, and what is asked about it. A rank that can be read, but gets no CPU, has longer.
constexpr std::chrono::milliseconds kTimeForRanks{1'200};
/// The part of it in which a rank's reader answers.
constexpr std::chrono::milliseconds kTimeToAnswer{100};
/// Added to it for NCCL.
constexpr std::chrono::milliseconds kTimeForNccl{300};

using Clock = std::chrono::steady_clock;

std::string proc_file(pid_t process, const char* name) {
  return "/proc/" + std::to_string(process) + "/" + name;
}

/// The number behind a name in a file of "name: number" lines; 0: there is none.
std::uint64_t number_at(const std::map<std::string, std::string>& fields, const char* name) {
  const auto found = fields.find(name);
  return found == fields.end() ? 0 : std::strtoull(found->second.c_str(), nullptr, 10);
}

/// Reads by a function of the hang's, which opens files that the process has named, with no more rights than it has.
template <typename Read>
auto read_as(pid_t process, Read read) -> decltype(read(process)) {
  const Rights own = TRY(rights_of(::getpid()));
  const Rights others = TRY(rights_of(process));
  const FileRights rights(own, others);
  if (!rights.are_taken()) {
    return Error{ErrorKind::System, "its rights are others than muster's"};
  }
  return read(process);
}

Result<hang::Stack> read_stack(pid_t process) {
  return read_as(process, hang::read_stack);
}

/// The program that is a rank.
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

/// The Python with the most CPU time, of equal ones the last; empty: there is none.
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

/// Of the nearest Pythons below a process the busiest.
std::optional<Program> find_below(const Process& top, const std::vector<Process>& all) {
  std::optional<Program> busiest;
  std::vector<Process> generation = children_of({top}, all);
  while (!generation.empty() && !busiest) {
    busiest = find_busiest(generation);
    generation = children_of(generation, all);
  }
  return busiest;
}

/// The worker, or the Python that it has started if it is a shell, or a Python in `subprocess`.
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

std::uint64_t io_bytes_of(pid_t process) {
  const auto io = read_fields(proc_file(process, "io"));
  return number_at(io, "rchar") + number_at(io, "wchar");
}

hang::RankEvidence describe_running(const Process& program, const std::vector<Process>& below) {
  hang::RankEvidence evidence;
  evidence.pid = program.pid;
  evidence.place.state = program.state;
  evidence.place.wait = kernel_function_of(program.pid);
  constexpr std::uint64_t kMilliseconds = 1'000;
  const auto ticks_per_second = static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK));
  for (const Process& process : below) {
    if (process.pid != program.pid) {
      evidence.counters.children_ms += process.cpu_ticks * kMilliseconds / ticks_per_second;
      evidence.counters.io_bytes += io_bytes_of(process.pid);
    }
  }
  evidence.counters.switches = number_at(read_fields(proc_file(program.pid, "status")), "voluntary_ctxt_switches");
  evidence.counters.io_bytes += io_bytes_of(program.pid);
  return evidence;
}

void set_stack(hang::Place& place, Result<hang::Stack> stack) {
  if (stack) {
    place.stack = std::move(*stack);
  } else {
    place.no_stack = stack.error().message;
  }
}

/// The folders where the process's own Python has its programs, as a PATH. That of a virtual environment is named by
/// the first argument, and the executable is the one that it links to.
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

Result<std::string> find_py_spy(pid_t process) {
  return find_executable("py-spy", search_path_of(process));
}

/// Does not stop the process. The process names the program, so that it gets no more rights than the process has: of
/// one whose rights change meanwhile it is not known which rights that are.
Result<HelperProgram> start_py_spy(pid_t process) {
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
  const std::string program = TRY(read_as(process, find_py_spy));
  if (TRY(rights_of(process)) != before) {
    return Error{ErrorKind::System, "py-spy is not asked: its rights change"};
  }
  return HelperProgram::start({program, "dump", "--json", "--nonblocking", "--pid", std::to_string(process)}, *rights);
}

/// The stack of a Python that our own reader does not know.
Result<hang::Stack> ask_py_spy(pid_t process, const std::string& why, Clock::time_point deadline) {
  auto py_spy = start_py_spy(process);
  if (!py_spy) {
    return Error{ErrorKind::System, why + "; " + py_spy.error().message};
  }
  const auto answer = py_spy->finish(deadline);
  return answer ? hang::read_py_spy(*answer, static_cast<std::uint64_t>(process))
                : Error{ErrorKind::System, "py-spy has not answered in time"};
}

/// A rank that waits for nobody.
bool may_compute(const hang::RankEvidence& rank) {
  const hang::Place& place = rank.place;
  return !place.stack.empty() && place.state != 'D' && place.state != 'T' &&
         hang::waits_for_others(place.stack).empty();
}

/// Looks again and again for a moment at a rank that may compute: a program that does calls other functions each time,
/// unlike one that hangs.
void watch_calls(hang::RankEvidence& rank, Clock::time_point deadline) {
  constexpr int kTimesWhenRunning = 50;
  constexpr int kTimesWhenAsleep = 6;  // it would be at the same place each time
  constexpr int kPauseMs = 4;
  const auto python = read_as(rank.pid, hang::PythonProcess::find);
  const int most = !python ? 0 : rank.place.state == 'R' ? kTimesWhenRunning : kTimesWhenAsleep;
  for (int times = 0; times < most && !rank.has_changing_calls && Clock::now() < deadline; ++times) {
    (void)::poll(nullptr, 0, kPauseMs);
    const auto stack = python->read_stack();
    rank.has_changing_calls = stack && !hang::are_same_calls(*stack, rank.place.stack);
  }
}

/// Looks again by py-spy.
void ask_about_calls(hang::RankEvidence& rank, Clock::time_point deadline) {
  constexpr int kMostTimes = 8;  // each takes some 50 ms of CPU time
  for (int times = 0; times < kMostTimes && !rank.has_changing_calls && Clock::now() < deadline; ++times) {
    const auto stack = ask_py_spy(rank.pid, "", deadline);
    rank.has_changing_calls = stack && !hang::are_same_calls(*stack, rank.place.stack);
  }
}

/// Ranks of a node that are looked at again: where more wait for nobody, the judgement does not hang on one.
constexpr int kMostWatched = 8;

/// `watched` counts such ranks; empty: none is looked at again.
hang::RankEvidence read_rank(const Process& worker, const std::vector<Process>& all, int* watched,
                             Clock::time_point deadline) {
  const std::vector<Process> below = descendants(all, worker.pid, {});
  Program program = find_program(worker, below);
  hang::RankEvidence rank = describe_running(program.process, below);
  const bool is_older = !program.stack && program.stack.error().kind == ErrorKind::BadData;
  set_stack(rank.place, is_older ? ask_py_spy(rank.pid, program.stack.error().message, deadline) : program.stack);
  const bool is_watched = may_compute(rank) && (!is_older || rank.place.state == 'R') && watched != nullptr &&
                          std::atomic_ref(*watched).fetch_add(1) < kMostWatched;
  if (is_watched) {
    is_older ? ask_about_calls(rank, deadline) : watch_calls(rank, deadline);
  }
  return rank;
}

/// Reads each rank in a process of its own: while it waits for a page of a rank's memory or for a file of it, it waits
/// as long as the rank does, and must not hide the others.
class RankReaders {
 public:
  RankReaders(std::chrono::milliseconds time, std::chrono::milliseconds extra_time)
      : end_(Clock::now() + time), extra_time_(extra_time), watched_(share_array<int>(1)) {}

  void start(std::size_t rank, const Process& worker, const std::vector<Process>& all) {
    const auto read = [=, &all, watched = watched_ ? watched_->get() : nullptr, deadline = end_ - kTimeToAnswer] {
      const hang::RankEvidence found = read_rank(worker, all, watched, deadline);
      HelperProgram::end_orphans();
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

  Clock::time_point end_;
  std::chrono::milliseconds extra_time_;
  Result<SharedArray<int>> watched_;
  std::vector<Reader> readers_;
};

/// Only these may say what NCCL knows.
std::set<uid_t> users_of(const std::vector<hang::RankEvidence>& ranks) {
  std::set<uid_t> users;
  for (const hang::RankEvidence& rank : ranks) {
    if (const auto rights = rights_of(rank.pid)) {
      users.insert(rights->users[Rights::Effective]);
    }
  }
  return users;
}

bool contains_rank_zero(const control::NodeStatus& status) {
  return std::ranges::find(status.workers, 0, &control::WorkerStatus::global_rank) != status.workers.end();
}

}  // namespace

hang::Evidence gather_evidence(const control::NodeStatus& status, const EvidenceSources& sources) {
  const std::chrono::milliseconds most_time = sources.most_time * 4 / 5;  // the rest is for NCCL and the answer
  const std::chrono::milliseconds time = std::min(kTimeForRanks, most_time);
  const auto deadline = Clock::now() + time + kTimeForNccl;
  const std::vector<int> recorders = find_recorders(status, sources.recorder_folder);
  std::vector<int> asked;
  if (sources.asks_recorders) {
    asked = ask_recorders(recorders, sources.recorder_folder);  // first: they need a second
  }
  const std::vector<Process> all = read_processes();
  hang::Evidence gathered{.ranks = {}, .quiet = quiet_seconds(status)};
  gathered.has_idle_recorders = !recorders.empty() && !sources.asks_recorders;
  RankReaders readers(time, most_time - time);
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
  HelperProgram::end_orphans();
  for (std::size_t i = 0; i < status.workers.size(); ++i) {
    gathered.ranks[i].rank = status.workers[i].global_rank;
    gathered.ranks[i].host = status.host;
  }
  const auto end = std::max(deadline, Clock::now() + kTimeForNccl);
  const std::string counts = contains_rank_zero(status) ? ask_nccl(sources.nccl, users_of(gathered.ranks), end) : "";
  gathered.progress = read_dumps(asked, sources.recorder_folder, end);
  if (gathered.progress.empty()) {
    gathered.progress = hang::to_progress(hang::parse_ras(counts), sources.nccl.world_size);
  }
  return gathered;
}

std::string kernel_function_of(pid_t process) {
  const std::string function = first_line(proc_file(process, "wchan"));
  return function == "0" ? "" : function.substr(0, function.find('.'));
}

double quiet_seconds(const control::NodeStatus& status) {
  const double now = control::now_since_1970();
  double quiet = std::numeric_limits<double>::max();
  for (const control::WorkerStatus& worker : status.workers) {
    for (const auto& age : {std::optional(now - worker.since), worker.output_age, worker.heartbeat_age}) {
      quiet = std::min(quiet, age.value_or(quiet));
    }
  }
  return quiet;
}

}  // namespace muster
