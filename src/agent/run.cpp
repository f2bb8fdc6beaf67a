// Prepares what guard and agent share (temporary directories, the process marker), then splits the process.
#include "agent/run.hpp"

#include "agent/agent.hpp"
#include "agent/rank_folders.hpp"
#include "agent/run_folder.hpp"
#include "agent/worker_starter.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "environment/cgroups.hpp"
#include "process/helper_process.hpp"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <system_error>

namespace muster {
namespace {

/// Makes a temporary directory for log files if they are wanted without --log-dir. Empty: none is needed.
Result<std::string> choose_log_folder(const RunOptions& options, const std::string& temporary) {
  if (!options.needs_files() || !options.log_dir.empty()) {
    return std::string();
  }
  const auto folder = make_temporary_folder(temporary, "muster_logs");
  if (!folder) {
    return Error{ErrorKind::System, "cannot make a folder for log files below '" + temporary +
                                        "': " + folder.error().message + "; give one with --log-dir"};
  }
  log_info("log files are in " + *folder);
  return *folder + "/";
}

/// Directories of a run, which last as long as it.
struct Resources {
  RunFolder folder;
  RunFolder shared;  ///< in shared memory, where `folder` is not
  RunFolder ranks;   ///< for what ranks write about their end
  std::string log_folder;

  const std::string& shared_path() const { return shared.path().empty() ? folder.path() : shared.path(); }
};

/// Removes a run's folders, but keeps core files. Usually called by the guard, which exits last.
void remove_folders(Resources& resources, int exit_code) {
  if (exit_code != 0) {
    (void)resources.ranks.keep_if_has(is_core_file);
  }
  resources.folder.remove();
  resources.shared.remove();
  resources.ranks.remove();
}

/// Makes the run's folder in shared memory, where no disk can block. MPI also needs one on a disk for programs,
/// because shared memory is often mounted noexec.
void make_run_folder(Resources& resources, const LaunchPlan& plan, const std::string& temporary) {
  const bool needs_both = plan.needs_shared_memory;
  if (needs_both && !resources.shared.make_in_memory()) {
    log_debug("no folder in shared memory, taking the one for temporary files");
  }
  if (plan.is_transparent || (!needs_both && resources.folder.make_in_memory())) {
    return;
  }
  const auto made = resources.folder.make_below(temporary);
  if (made) {
    return;
  }
  const bool has_other = resources.folder.make_in_memory();
  const auto say = plan.needs_run_folder ? log_warning : log_debug;
  say("cannot make a folder below '" + temporary + "': " + made.error().message +
      (has_other ? "; taking one in shared memory"
                 : "; the workers' error files are not collected and the job cannot be asked from "
                   "outside, going on without") +
      " (TMPDIR names another place)");
}

}  // namespace

Result<int> run(const JobPlan& job, const RunOptions& options, const Inherited& inherited,
                const std::map<std::string, std::string>& variables, const ExitReport& exit_report) {
  TRY(check_descriptors(job));
  const std::string marker = TRY(make_marker());
  const std::string run_id = TRY(random_uuid());
  // For the log directory's name, as Python's tempfile chooses it.
  const std::string log_token = TRY(random_word("abcdefghijklmnopqrstuvwxyz0123456789_", 8));
  Resources resources;
  const std::string temporary = temporary_folder(variables);
  resources.log_folder = TRY(choose_log_folder(options, temporary));
  make_run_folder(resources, job.plan, temporary);
  // The ranks' folder is in shared memory if possible, as the folder of the run is: both have small files that are soon gone.
  constexpr const char* kName = "muster-ranks";
  if (!job.plan.is_transparent && !resources.ranks.make_in_memory(kName)) {
    (void)resources.ranks.make_below(temporary, kName);  // if that fails, ranks write into the folder of the run
  }
  std::set<int> watched_signals = options.stop_signals.all();
  if (options.suspend.signal) {  // an agent that misses the notice has to be ended before the platform kills it
    watched_signals.insert(*options.suspend.signal);
  }
  const GuardSetup setup{marker, watched_signals, inherited.ignored_signals, options.grace, [&resources] {
                           return resources.ranks.keep_if_has([](const std::string& /*name*/) { return true; });
                         }};
  auto result = run_guarded(setup, [&](GuardLink link) {
    const pid_t guard = link.guard;
    int exit_code = 0;
    {
      const RunContext context{job,
                               options,
                               inherited,
                               variables,
                               exit_report,
                               marker,
                               resources.log_folder,
                               resources.folder.path(),
                               resources.shared_path(),
                               resources.ranks.path(),
                               run_id,
                               log_token,
                               find_memory_group()};
      exit_code = Agent(context, std::move(link)).run();
    }
    if (::getppid() != guard) {
      remove_folders(resources, exit_code);  // otherwise the guard does it
    }
    return exit_code;
  });
  remove_folders(resources, result ? *result : 0);
  if (result) {
    // Not by returning: destroying objects shared by guard and agent would make the kernel copy their pages first.
    ::_exit(*result);
  }
  return result;
}

// The private temporary directory.

namespace {

/// POSIX shared memory on Linux.
constexpr const char* kSharedMemory = "/dev/shm";

/// Limit for removing a folder. 200 ms were too few on a busy disk for the folders of 64 ranks, and some were left.
constexpr std::chrono::seconds kRemovalTimeout{2};

std::string template_of(const std::string& place, const std::string& name) {
  return place + "/" + name + "_XXXXXX";
}

void remove_with_content(const std::string& path) {
  if (::rmdir(path.c_str()) != 0) {  // usually it is empty
    std::error_code ignored;         // what remains is a few bytes in a temporary directory
    std::filesystem::remove_all(path, ignored);
  }
}

}  // namespace

std::string temporary_folder(const std::map<std::string, std::string>& variables) {
  const std::string named = value_at(variables, "TMPDIR");
  const std::string path = named.empty() ? "/tmp" : named;
  std::error_code failed;  // without a working directory a relative path stays what it is
  const std::filesystem::path whole = std::filesystem::absolute(path, failed);
  return failed ? path : whole.string();  // absolute, because workers may change their directory
}

Result<std::string> make_temporary_folder(const std::string& temporary_folder, const std::string& name) {
  constexpr std::chrono::seconds kTimeout{1};
  const auto make = [&] {
    std::string path = template_of(temporary_folder, name);
    return ::mkdtemp(path.data()) != nullptr ? path : std::to_string(errno);
  };
  auto answer = HelperTask::wait_for({make, kTimeout});
  if (!answer) {
    return Error{ErrorKind::System, "its file system does not answer"};
  }
  if (const auto error_number = parse_integer(*answer, 0, std::numeric_limits<int>::max())) {
    return Error{ErrorKind::System, std::generic_category().message(*error_number)};
  }
  return std::move(*answer);
}

bool is_in_memory(const std::string& path) {
  return path.starts_with(std::string(kSharedMemory) + "/");
}

bool RunFolder::make_in_memory(const std::string& name) {
  struct statfs place {};
  std::string path = template_of(kSharedMemory, name);
  is_in_memory_ =
      ::statfs(kSharedMemory, &place) == 0 && place.f_type == TMPFS_MAGIC && ::mkdtemp(path.data()) != nullptr;
  path_ = is_in_memory_ ? path : "";
  return is_in_memory_;
}

Result<> RunFolder::make_below(const std::string& temporary_folder, const std::string& name) {
  path_ = TRY(make_temporary_folder(temporary_folder, name));
  return {};
}

void RunFolder::remove() {
  if (is_in_memory_) {
    remove_with_content(path_);
  } else if (!path_.empty()) {
    const auto work = [this] {
      remove_with_content(path_);
      return std::string();
    };
    (void)HelperTask::wait_for({work, kRemovalTimeout});
  }
  path_.clear();
}

std::string RunFolder::keep_if_has(bool (*is_wanted)(const std::string& name)) {
  const auto look = [&] { return has_rank_file(path_, is_wanted) ? path_ : std::string(); };
  std::string kept = path_.empty()   ? std::string()
                     : is_in_memory_ ? look()
                                     : HelperTask::wait_for({look, kRemovalTimeout}).value_or("");
  if (!kept.empty()) {
    path_.clear();
  }
  return kept;
}

void make_again(const std::string& folder) {
  constexpr mode_t kOwnersAlone = 0700;
  if (is_in_memory(folder)) {
    (void)::mkdir(folder.c_str(), kOwnersAlone);  // nearly always it exists already
  }
}

}  // namespace muster
