// Describes each worker by its Python program, else by its main process.
#include "agent/rank_evidence.hpp"

#include "agent/recorder_dumps.hpp"
#include "base/file_io.hpp"
#include "base/text.hpp"
#include "environment/mounted_files.hpp"
#include "hang/nccl_ras.hpp"
#include "hang/py_spy.hpp"
#include "process/descendants.hpp"
#include "process/helper_program.hpp"
#include "process/rights.hpp"
#include "process/spawn.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
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

/// For programs that are asked. Less than the helper process has (JobControl): a late answer must not hide other ranks.
constexpr std::chrono::milliseconds kMostTime{1'500};
/// A part of it that is left for NCCL where Pythons do not answer.
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
Program find_program(const Process& worker, const std::vector<Process>& below, hang::Stacks stacks) {
  if (stacks == hang::Stacks::LeaveOut) {
    return {worker, Error{ErrorKind::System, "the memory of a rank on this node cannot be read for now"}};
  }
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
  const bool means_our_files = file_tree_of(process) == file_tree_of(::getpid());
  if (!is_in_our_user_namespace(process) || (*rights && !means_our_files)) {
    return Error{ErrorKind::NotFound, "py-spy is not asked: it is in a container of its own"};
  }
  const std::string program = TRY(read_as(process, find_py_spy));
  if (TRY(rights_of(process)) != before) {
    return Error{ErrorKind::System, "py-spy is not asked: its rights change"};
  }
  return HelperProgram::start({program, "dump", "--json", "--nonblocking", "--pid", std::to_string(process)}, *rights);
}

/// Ranks of a node that are looked at again: where more wait for nobody, the judgement does not hang on one.
constexpr std::size_t kMostWatched = 8;

/// A rank that waits for nobody, and whose calls have not changed so far.
bool may_compute(const hang::RankEvidence& rank) {
  const hang::Place& place = rank.place;
  return !place.stack.empty() && !rank.has_changing_calls && place.state != 'D' && place.state != 'T' &&
         hang::waits_for_others(place.stack).empty();
}

void note_calls(hang::RankEvidence& rank, const Result<hang::Stack>& stack) {
  rank.has_changing_calls = stack && !hang::are_same_calls(*stack, rank.place.stack);
}

/// The Pythons of this node that do not describe themselves, all asked about at once.
class OlderPythons {
 public:
  /// Asks py-spy if our own reader does not know this Python.
  void set_stack_or_ask(std::size_t rank, hang::RankEvidence& evidence, Result<hang::Stack> stack) {
    if (stack || stack.error().kind != ErrorKind::BadData) {
      set_stack(evidence.place, std::move(stack));
    } else if (auto py_spy = start_py_spy(evidence.pid)) {
      asked_.emplace_back(rank, std::move(*py_spy));
    } else {
      evidence.place.no_stack = stack.error().message + "; " + py_spy.error().message;
    }
  }

  void take_answers(std::vector<hang::RankEvidence>& ranks, Clock::time_point deadline) {
    for (auto& [rank, py_spy] : asked_) {
      const auto answer = py_spy.finish(deadline);
      const auto thread = static_cast<std::uint64_t>(ranks[rank].pid);
      set_stack(ranks[rank].place, answer ? hang::read_py_spy(*answer, thread)
                                          : Error{ErrorKind::System, "py-spy has not answered in time"});
    }
  }

  /// Asks again about ranks that run and may compute, see `watch_calls`.
  void watch_calls(std::vector<hang::RankEvidence>& ranks, Clock::time_point deadline) {
    constexpr int kMostTimes = 8;  // each takes some 50 ms of CPU time
    for (int i = 0; i < kMostTimes && Clock::now() < deadline; ++i) {
      watch_calls_once(ranks, deadline);
    }
  }

  [[nodiscard]] bool contains(std::size_t rank) const {
    return std::ranges::find(asked_, rank, [](const auto& one) { return one.first; }) != asked_.end();
  }

 private:
  using Asked = std::vector<std::pair<std::size_t, HelperProgram>>;

  void watch_calls_once(std::vector<hang::RankEvidence>& ranks, Clock::time_point deadline) {
    Asked again;
    for (const auto& [rank, py_spy] : asked_) {
      if (again.size() == kMostWatched || ranks[rank].place.state != 'R' || !may_compute(ranks[rank])) {
        continue;
      }
      if (auto started = start_py_spy(ranks[rank].pid)) {
        again.emplace_back(rank, std::move(*started));
      }
    }
    for (auto& [rank, py_spy] : again) {
      if (const auto answer = py_spy.finish(deadline)) {
        note_calls(ranks[rank], hang::read_py_spy(*answer, static_cast<std::uint64_t>(ranks[rank].pid)));
      }
    }
  }

  Asked asked_;
};

/// Looks again and again for a moment at ranks that may compute: a program that does calls other functions each time,
/// unlike one that hangs.
void watch_calls(std::vector<hang::RankEvidence>& ranks, OlderPythons& older, Clock::time_point deadline) {
  constexpr int kTimesWhenRunning = 50;
  constexpr int kTimesWhenAsleep = 5;  // it would be at the same place each time
  constexpr int kPauseMs = 4;
  std::vector<std::pair<hang::RankEvidence*, hang::PythonProcess>> watched;
  for (std::size_t i = 0; i < ranks.size() && watched.size() < kMostWatched; ++i) {
    const bool is_ours = may_compute(ranks[i]) && !older.contains(i);
    if (auto python = is_ours ? read_as(ranks[i].pid, hang::PythonProcess::find) : Error{ErrorKind::NotFound, ""}) {
      watched.emplace_back(&ranks[i], *python);
    }
  }
  for (int times = 0; times < kTimesWhenRunning && !watched.empty() && Clock::now() < deadline; ++times) {
    (void)::poll(nullptr, 0, kPauseMs);
    std::erase_if(watched, [&](const auto& one) {
      auto& [rank, python] = one;
      note_calls(*rank, python.read_stack());
      return rank->has_changing_calls || (rank->place.state != 'R' && times >= kTimesWhenAsleep);
    });
  }
  older.watch_calls(ranks, deadline);
}

/// Only these may say what NCCL knows.
std::set<uid_t> users_of(const std::vector<hang::RankEvidence>& ranks) {
  std::set<uid_t> users;
  for (const hang::RankEvidence& rank : ranks) {
    if (const auto rights = rights_of(rank.pid)) {
      users.insert(rights->users[Rights::kEffective]);
    }
  }
  return users;
}

bool contains_rank_zero(const control::NodeStatus& status) {
  return std::ranges::find(status.workers, 0, &control::WorkerStatus::global_rank) != status.workers.end();
}

}  // namespace

hang::Evidence gather_evidence(const control::NodeStatus& status, const EvidenceSources& sources) {
  const auto deadline = Clock::now() + kMostTime;
  const std::vector<int> recorders = find_recorders(status, sources.recorder_folder);
  std::vector<int> asked;
  if (sources.asks_recorders) {
    asked = ask_recorders(recorders, sources.recorder_folder);  // first: they need a second
  }
  const std::vector<Process> all = read_processes();
  hang::Evidence gathered{.ranks = {}, .quiet = quiet_seconds(status)};
  gathered.has_idle_recorders = !recorders.empty() && !sources.asks_recorders;
  OlderPythons older;
  for (const control::WorkerStatus& worker : status.workers) {
    hang::RankEvidence& evidence = gathered.ranks.emplace_back();
    const auto running = std::ranges::find(all, worker.pid, &Process::pid);
    if (worker.pid > 0 && !worker.is_alive) {
      evidence.place.end = worker.state;
    } else if (worker.pid <= 0 || running == all.end()) {
      evidence.place.no_stack = worker.pid <= 0 ? "it is not started yet" : "/proc does not show its process";
    } else {
      const std::vector<Process> below = descendants(all, worker.pid, {});
      Program program = find_program(*running, below, sources.stacks);
      evidence = describe_running(program.process, below);
      older.set_stack_or_ask(gathered.ranks.size() - 1, evidence, std::move(program.stack));
    }
    evidence.rank = worker.global_rank;
    evidence.host = status.host;
  }
  older.take_answers(gathered.ranks, deadline - kTimeForNccl);
  watch_calls(gathered.ranks, older, deadline - kTimeForNccl);
  HelperProgram::end_orphans();
  const std::string counts =
      contains_rank_zero(status) ? ask_nccl(sources.nccl, users_of(gathered.ranks), deadline) : "";
  gathered.progress = read_dumps(asked, sources.recorder_folder, deadline);
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
