// Reads what to run, and how.
#include "requests.hpp"

#include "typed_settings.hpp"

#include <muster/base/text.hpp>

namespace muster {
namespace {

Result<> read_when(When& target, const Settings& settings, std::string_view name) {
  const auto setting = settings.find(name);
  if (!setting || setting->value == "auto") {
    return {};
  }
  if (setting->value != "always" && setting->value != "never") {
    return wrong_value(*setting, "auto, always or never");
  }
  target = setting->value == "always" ? When::Always : When::Never;
  return {};
}

Result<> read_stdin_rank(RunOptions& options, const Settings& settings) {
  const auto setting = settings.find("stdin");
  if (!setting) {
    return {};
  }
  const auto rank = parse_integer(setting->value, 0, 1'000'000);
  if (!rank) {
    return wrong_value(*setting, "a local rank such as 0");
  }
  options.stdin_rank = LocalRank{*rank};
  return {};
}

}  // namespace

Result<JobRequest> read_job(const CommandLine& line, const Snapshot& snapshot) {
  JobRequest job;
  const std::string python = snapshot.variable("PYTHON_EXEC").value_or("python3");
  if (const auto module = line.settings.find("module")) {
    job.program = {python, "-m", module->value};
  } else if (line.program.empty() || line.program.front().empty()) {
    return Error{ErrorKind::BadUsage,
                 "no program to run; try 'muster train.py' or 'muster --help'"};
  } else if ((line.is_python_script || line.program.front().ends_with(".py")) &&
             !is_on(line.settings, "no-python")) {
    job.program = {python};
    job.script = line.program.front();
  }
  job.program.insert(job.program.end(), line.program.begin(), line.program.end());
  if (const auto folder = line.settings.find("log-dir")) {
    if (folder->value.empty()) {
      return wrong_value(*folder, "a folder");
    }
    job.log_dir = folder->value;
  }
  return job;
}

Result<RunOptions> read_run_options(const Settings& settings, const Snapshot& snapshot) {
  RunOptions options;
  for (const auto& [name, target] :
       {std::pair("grace", &options.grace), std::pair("console-stall", &options.console_stall)}) {
    if (auto read = read_duration(*target, settings, name); !read) {
      return read.error();
    }
  }
  for (const auto& [name, target] :
       {std::pair("prefix", &options.prefix), std::pair("color", &options.colour)}) {
    if (auto read = read_when(*target, settings, name); !read) {
      return read.error();
    }
  }
  std::string report;  // written by the launcher, which reads the setting itself
  if (auto read = read_file_name(report, settings, "report"); !read) {
    return read.error();
  }
  if (auto read = read_stdin_rank(options, settings); !read) {
    return read.error();
  }
  auto selection = Selection::read(settings);
  if (!selection) {
    return selection.error();
  }
  options.selection = std::move(*selection);
  if (const auto folder = settings.find("log-dir")) {
    options.log_dir = folder->value;
  }
  options.host_name = snapshot.host_name;
  return options;
}

Result<> check_stdin_rank(const Settings& settings,
                          const RunOptions& options,
                          const LaunchPlan& plan) {
  const auto workers = static_cast<int>(plan.workers.size());
  if (!options.stdin_rank || options.stdin_rank->value < workers) {
    return {};
  }
  return wrong_value(
      *settings.find("stdin"),
      "a local rank below " + std::to_string(workers) + ", the workers of this node");
}

}  // namespace muster
