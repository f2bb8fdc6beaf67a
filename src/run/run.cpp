// Gets ready what both halves of muster need, then splits.
#include <muster/run/run.hpp>

#include "job.hpp"

#include <muster/logs/messages.hpp>
#include <muster/run/marker.hpp>

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
  return !plan.master_port && plan.marks_workers;
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
      const JobInput input{plan,     options, inherited,     variables,
                           conclude, marker,  folder.path(), port};
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
