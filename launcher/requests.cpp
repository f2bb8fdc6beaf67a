// Reads what to run, and how.
#include "requests.hpp"

#include "base/text.hpp"
#include "platforms/run_method.hpp"
#include "environment/own_program.hpp"
#include "compat/front_end.hpp"
#include "options/typed_settings.hpp"

namespace muster {
namespace {

Result<> read_stdin(RunOptions& options, const Settings& settings) {
  const auto setting = settings.find("stdin");
  if (!setting) {
    return {};
  }
  if (setting->value == "all" || setting->value == "none") {
    options.input_for = setting->value == "all" ? InputFor::All : InputFor::Nobody;
    return {};
  }
  const auto rank = parse_integer(setting->value, 0, 1'000'000);
  if (!rank) {
    return wrong_value(*setting, "a local rank such as 0, all or none");
  }
  options.input_for = InputFor::ChosenWorker;
  options.input_rank = LocalRank{*rank};
  return {};
}

/// Up to torch 2.13 the ranks of an agent's store are clients of every store that a script makes: so it is for those who
/// expect torchrun. A word of MA_RUN_METHOD that is none is refused where the mode is chosen.
Result<> read_store(JobRequest& job, const Settings& settings, const Snapshot& snapshot) {
  const auto given = settings.find("store");
  if (!given) {
    const RunMethod* const method = find_run_method(snapshot);
    if (method != nullptr && std::string_view(method->mode) == "torchrun") {
      job.hosts_store = default_of("torchrun");
    }
    return {};
  }
  if (given->value != "agent" && given->value != "worker") {
    return wrong_value(*given, "agent or worker");
  }
  if (given->value == "agent") {
    job.hosts_store = given->source;
  }
  return {};
}

/// What the workers are given besides what the mode says.
Result<> read_contract(JobRequest& job, const Settings& settings) {
  job.fills_arguments = is_on(settings, "fill-arguments");
  job.masks_devices = is_on(settings, "virtual-local-rank");
  if (const auto roles = settings.find("success-roles")) {
    job.success_roles = split(roles->value, ',');
    if (job.success_roles.empty()) {
      return wrong_value(*roles, "names of roles such as chief,evaluator");
    }
  }
  const auto given = settings.find("template-arguments");
  if (!given || given->value == "auto") {
    return {};
  }
  if (given->value != "always" && given->value != "never") {
    return wrong_value(*given, "auto, always or never");
  }
  job.template_arguments = given->value == "always" ? GiveArguments::Always : GiveArguments::Never;
  return {};
}

/// Options that say where workers are.
std::vector<Source> placed_by(const Settings& settings) {
  std::vector<Source> sources;
  for (const char* const name : {"nnodes",
                                 "node-rank",
                                 "master-addr",
                                 "master-port",
                                 "devices",
                                 "platform",
                                 "hosts",
                                 "hostfile",
                                 "mode",
                                 "template",
                                 "mpi-start",
                                 "mpirun-options",
                                 "rank-table",
                                 "hccn-conf",
                                 "numa-binding",
                                 "bind-core",
                                 "bind-numa",
                                 "topology"}) {
    if (const auto setting = settings.find(name)) {
      sources.push_back(setting->source);
    }
  }
  return sources;
}

std::optional<Source> source_of(const Settings& settings, std::string_view name) {
  const auto setting = settings.find(name);
  return setting ? std::optional(setting->source) : std::nullopt;
}

/// Under another launcher's name it is the Python of that launcher's folder, as in a virtual environment that is not active.
std::string find_python(const CommandLine& line, const Snapshot& snapshot) {
  if (const auto given = snapshot.variable("PYTHON_EXEC")) {
    return *given;
  }
  const std::string& argv0 = line.words.empty() ? "" : line.words.front();
  const auto called = compat_of(argv0);
  const std::string beside = called && *called != nullptr
                                 ? find_own_python(argv0, snapshot.variable("PATH").value_or(""))
                                 : "";
  return beside.empty() ? "python3" : beside;
}

/// Those that end in torch's own launcher.
bool is_torchs(const CompatLauncher& compat) {
  const std::string_view mode = compat.mode;
  return mode == "torchrun" || mode == "accelerate";
}

/// What to execute. A template of the user's own may need nothing: that is seen when it has been read.
Result<> read_program(JobRequest& job, const CommandLine& line, const Snapshot& snapshot) {
  const std::string python = find_python(line, snapshot);
  if (const auto module = line.settings.find("module")) {
    job.program = {python, "-m", module->value};
  } else if (line.command == Command::Explain && line.program.empty()) {
    job.program = {"program"};  // what is explained needs none to be named
  } else if (line.program.empty() && line.settings.has("template")) {
    return {};
  } else if (line.program.empty() || line.program.front().empty()) {
    return no_program(line.compat);
  } else if ((line.is_python_script || line.program.front().ends_with(".py")) &&
             !is_on(line.settings, "no-python")) {
    job.program = {python};
    job.script = line.program.front();
  }
  const bool is_python_added = !job.program.empty();
  job.program.insert(job.program.end(), line.program.begin(), line.program.end());
  job.files = find_program_files(job.program, is_python_added);
  // Source: torch/distributed/elastic/agent/server/local_elastic_agent.py, macros.substitute.
  job.fills_local_rank = line.compat != nullptr && is_torchs(*line.compat);
  return {};
}

/// Where the job runs, how its processes are started, and what they are bound to.
Result<> read_places(Options& options, const CommandLine& line, const Snapshot& snapshot) {
  if (auto read = read_network(options.job, line.settings, snapshot); !read) {
    return read.error();
  }
  options.mode = read_mode_request(line.settings);
  auto mpi = read_mpi_request(line.settings);
  if (!mpi) {
    return mpi.error();
  }
  options.mode.mpi = std::move(*mpi);
  if (auto read = read_rank_table(options, line.settings, snapshot); !read) {
    return read.error();
  }
  auto cluster = read_cluster_request(line.settings);
  if (!cluster) {
    return cluster.error();
  }
  options.cluster = std::move(*cluster);
  options.cluster.names = {
      spelled(line, "nnodes"), spelled(line, "node-rank"), spelled(line, "master-addr")};
  if (!line.words.empty()) {
    options.cluster.names.command = shell_line(line.words);
  }
  auto binding = read_binding_options(line.settings);
  if (!binding) {
    return binding.error();
  }
  options.binding = std::move(*binding);
  return {};
}

}  // namespace

Error no_program(const CompatLauncher* compat) {
  const std::string help = compat == nullptr ? "'muster train.py' or 'muster --help'"
                                             : "'muster " + command_of(*compat) + " --help'";
  return Error{ErrorKind::BadUsage, "no program to run; try " + help};
}

Result<JobRequest> read_job(const CommandLine& line, const Snapshot& snapshot) {
  JobRequest job;
  if (auto read = read_program(job, line, snapshot); !read) {
    return read.error();
  }
  if (auto read = read_store(job, line.settings, snapshot); !read) {
    return read.error();
  }
  if (auto read = read_contract(job, line.settings); !read) {
    return read.error();
  }
  for (const auto& [name, value] : line.settings.starting_with(kExportPrefix)) {
    job.exported[name.substr(std::string_view(kExportPrefix).size())] = value.value;
  }
  job.folder = line.settings.find(kProgramFolder).value_or(Sourced<std::string>{}).value;
  if (const auto folder = line.settings.find("log-dir")) {
    if (folder->value.empty()) {
      return wrong_value(*folder, "a folder");
    }
    job.log_dir = folder->value;
  }
  if (const auto layout = line.settings.find(kLogLayout)) {
    job.log_layout = layout->value == kNoLogs ? LogLayout::Nothing : LogLayout::Torchrun;
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
  std::string report;  // that a file is named is what counts here
  if (auto read = read_file_name(report, settings, "report"); !read) {
    return read.error();
  }
  const auto stop_signals = StopSignals::read(settings.find("signals-to-handle"));
  if (!stop_signals) {
    return stop_signals.error();
  }
  options.stop_signals = *stop_signals;
  if (auto read = read_suspend_options(options, settings, snapshot); !read) {
    return read.error();
  }
  if (auto read = read_stdin(options, settings); !read) {
    return read.error();
  }
  if (auto read = read_log_options(options, settings, snapshot); !read) {
    return read.error();
  }
  options.host_name = snapshot.host_name;
  return options;
}

Result<Options> read_options(const CommandLine& line, const Snapshot& snapshot) {
  const Settings& settings = line.settings;
  Options options;
  auto job = read_job(line, snapshot);
  auto run = read_run_options(settings, snapshot);
  auto gang = read_gang_options(settings, snapshot);
  if (!job || !run || !gang) {
    return !job ? job.error() : !run ? run.error() : gang.error();
  }
  options.job = std::move(*job);
  options.run = std::move(*run);
  options.gang = std::move(*gang);
  options.stop_signals = source_of(settings, "signals-to-handle");
  options.stdin_rank = source_of(settings, "stdin");
  options.report = settings.find("report");
  if (auto read = read_file_name(options.state_dir, settings, "state-dir"); !read) {
    return read.error();
  }
  options.devices = settings.find("devices");
  options.is_verbose = is_on(settings, "verbose");
  options.is_json = is_on(settings, "json");
  options.is_worker_already = is_already_worker(snapshot) && !settings.has("nproc-per-node");
  if (options.is_worker_already) {
    options.ignored = placed_by(settings);
    return options;
  }
  if (auto read = read_compat_hfai(options, settings); !read) {
    return read.error();
  }
  if (auto read = read_places(options, line, snapshot); !read) {
    return read.error();
  }
  return options;
}

Result<> check_stdin_rank(const Options& options, const LaunchPlan& plan) {
  const auto workers = static_cast<int>(plan.workers.size());
  const LocalRank rank = options.run.input_rank;
  if (options.run.input_for != InputFor::ChosenWorker || rank.value < workers) {
    return {};
  }
  return wrong_value(
      {std::to_string(rank.value), options.stdin_rank.value_or(Source{})},
      "a local rank below " + std::to_string(workers) + ", the workers of this node");
}

}  // namespace muster
