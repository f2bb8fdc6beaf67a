// Gets ready what both halves of muster need, then splits.
#include "job.hpp"
#include "run_folder.hpp"

#include <muster/base/text.hpp>
#include <muster/logs/messages.hpp>
#include <muster/run/marker.hpp>
#include <muster/run/run.hpp>

#include <unistd.h>

namespace muster {
namespace {

/// True when some worker has a file in the folder of the run.
bool needs_run_folder(const LaunchPlan& plan) {
  for (const WorkerPlan& worker : plan.workers) {
    for (const auto& [name, value] : worker.environment) {
      if (value.find("{run_dir}") != std::string::npos) {
        return true;
      }
    }
  }
  return false;
}

bool needs_worker_port(const LaunchPlan& plan) {
  return !plan.master_port && !plan.is_transparent;
}

/// A job that cannot be started whole is not started: half of it would hold devices for nothing.
Result<> check_descriptors(const LaunchPlan& plan, const RunOptions& options) {
  constexpr rlim_t kForMuster = 24;
  const rlim_t per_worker =
      options.selection.needs_files() ? 5 : 3;  // two pipes, a pidfd, two files
  const rlim_t needed = kForMuster + per_worker * plan.workers.size();
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) {
    return {};
  }
  return Error{ErrorKind::System,
               "cannot start " + count_of(plan.workers.size(), "worker") + ": that takes " +
                   std::to_string(needed) + " file descriptors, and the hard limit is " +
                   std::to_string(limit.rlim_cur) + " (ulimit -Hn)"};
}

std::string temporary_folder(const std::map<std::string, std::string>& variables) {
  const auto folder = variables.find("TMPDIR");
  return folder == variables.end() || folder->second.empty() ? "/tmp" : folder->second;
}

}  // namespace

Result<int> run(const LaunchPlan& plan,
                const RunOptions& options,
                const Inherited& inherited,
                const std::map<std::string, std::string>& variables,
                const std::function<void(const Outcome&)>& conclude) {
  if (auto checked = check_descriptors(plan, options); !checked) {
    return checked.error();
  }
  RunFolder folder;
  if (needs_run_folder(plan) && !folder.make(temporary_folder(variables))) {
    say_warning("cannot make a folder below '" + temporary_folder(variables) +
                "': the workers' error files are not collected, going on without them");
  }
  std::optional<WorkerPort> port;
  if (needs_worker_port(plan)) {
    auto reserved = WorkerPort::reserve();
    if (!reserved) {
      return reserved.error();
    }
    port = std::move(*reserved);
  }
  const std::string marker = make_marker();
  return run_guarded(marker, [&](GuardLink link) {
    const pid_t guard = link.guard;
    int exit_code = 0;
    {
      const JobInput input{
          plan, options, inherited, variables, conclude, marker, folder.path(), port};
      exit_code = Job(input, std::move(link)).run();
    }
    if (::getppid() != guard) {
      folder.remove();  // usually the guard's to do
    }
    return exit_code;
  });
}

bool may_colour(int fd, When colour, const std::map<std::string, std::string>& variables) {
  if (colour != When::Auto) {
    return colour == When::Always;
  }
  const auto refused = variables.find("NO_COLOR");  // https://no-color.org
  const auto terminal = variables.find("TERM");
  const bool is_dumb = terminal != variables.end() && terminal->second == "dumb";
  return ::isatty(fd) != 0 && !is_dumb && (refused == variables.end() || refused->second.empty());
}

}  // namespace muster
