// Starts the job from its plan and reports its end; reads the order if a remote launcher has started this agent.
#include "start_job.hpp"

#include "agent/run.hpp"
#include "base/control_lines.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "inputs/input_files.hpp"
#include "preflight/bad_nodes.hpp"
#include "process/helper_process.hpp"
#include "rank_table/table_input.hpp"
#include "report/report.hpp"
#include "subcommands.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <limits>

namespace muster {
namespace {

constexpr int kMostDescriptors = 1'048'576;

/// File for the error, named by a launcher that has started muster, such as torchrun or TorchX.
constexpr const char* kErrorFile = "TORCHELASTIC_ERROR_FILE";

/// Lines for the remote launcher at the end of the job; empty if there is none.
std::string control_lines_for_launcher(const Outcome& outcome, const std::optional<LauncherInfo>& launcher) {
  if (!launcher) {
    return {};
  }
  std::string report;
  if (launcher->is_first) {
    json::value document = to_document(outcome);
    const auto lines = texts_of(describe_outcome(outcome));
    document.as_object()[kLinesOfReport] = json::array(lines.begin(), lines.end());
    make_valid_utf8(document);
    report = write_control(launcher->nonce, kReportLine, json::serialize(document));
  }
  return report + write_control(launcher->nonce, kExit, std::to_string(outcome.end.exit_code));
}

/// Prints the outcome of the job. `report` is the result of writing the file of --report. Tasks that a
/// platform starts share a console, and all know the first failure: only the first task prints it.
void conclude(const Outcome& outcome, const Result<>& report, bool is_later_task) {
  if (!report) {
    log_warning(report.error().message);
  }
  if (outcome.is_printed_elsewhere || (is_later_task && outcome.end.first_failure)) {
    return;
  }
  for (const ReportLine& line : describe_outcome(outcome)) {
    say(line.level, line.text);
  }
}

/// Files to write at the end, beside the report.
struct EndFiles {
  std::string error;         ///< error file; empty: none
  std::string state_folder;  ///< empty: none
  RunHistory history;        ///< of the runs before this one
  std::optional<ReportKeeper> keeper;
};

/// Writes all files, even if one fails.
Result<> write_files(const Outcome& outcome, const Options& options, const EndFiles& files) {
  const auto report = options.report ? write_report(outcome, options.report->value) : Result<>();
  const auto error = files.error.empty() ? Result<>() : write_error_file(outcome, files.error);
  const bool keeps_state = !files.state_folder.empty() && outcome.node_rank.value == 0;
  const auto state = keeps_state ? write_history(files.state_folder, files.history, outcome.end) : Result<>();
  const bool is_kept = files.keeper && outcome.node_rank.value == 0;
  const auto kept =
      is_kept ? files.keeper->keep_report(to_document(outcome), texts_of(describe_outcome(outcome))) : Result<>();
  return !report ? report : !error ? error : !state ? state : kept;
}

/// Prepares the report at exit. Fails if it cannot be written.
Result<ExitReport> make_exit_report(const Options& options, const EndFiles& files) {
  ExitReport words;
  if (options.report) {
    words.stream = TRY(check_report(*options.report));
    words.file = words.stream ? "" : options.report->value;
  }
  if (options.report || !files.error.empty() || !files.state_folder.empty() || files.keeper) {
    words.write_report = [&options, files](const Outcome& outcome) { return write_files(outcome, options, files); };
  }
  return words;
}

/// Opens the state of the job. If the state cannot be kept, the job runs without it.
EndFiles open_end_files(const Planned& planned, const Options& options, const Snapshot& snapshot) {
  EndFiles files;
  files.error = snapshot.variable(kErrorFile).value_or("");
  files.keeper = make_report_keeper(options, planned.input ? planned.input->cluster.job.job_id : "", snapshot);
  if (options.state_dir.empty() || !planned.input) {
    return files;
  }
  const std::string folder = state_folder_of(options.state_dir, planned.input->cluster.job.job_id);
  if (auto history = open_history(folder)) {
    files.state_folder = folder;
    files.history = std::move(*history);
  } else {
    log_warning(history.error().message + "; going on without it");
  }
  return files;
}

/// Adds the other start methods on which the nodes may agree.
Result<> add_start_methods(JobPlan& job, const PlanInput& input, const ModeRequest& request) {
  auto others = TRY(other_start_methods(request, input.mode, input.snapshot));
  for (ChosenMode& other : others) {
    PlanInput of_other = input;
    of_other.mode = std::move(other);
    job.ports_to_reserve = std::max(job.ports_to_reserve, most_listeners(of_other.mode.mode, input.cluster));
    LaunchPlan plan = make_plan(of_other);
    job.others.push_back({std::move(of_other.mode), std::move(plan)});
  }
  return {};
}

gang::Lead choose_leader(const Cluster& cluster, const gang::GangOptions& options) {
  if (options.lead || !cluster.node.rank) {
    return options.lead.value_or(gang::Lead::IfAddressIsLocal);
  }
  return cluster.node.rank->value == 0 ? gang::Lead::Always : gang::Lead::Never;
}

/// Makes the key from the user's token, else from the secret that the platform shares among the nodes.
Result<std::shared_ptr<const gang::GangKey>> make_key(const gang::GangOptions& options, const Cluster& cluster) {
  std::string token = options.token;
  std::string source = "MUSTER_TOKEN";
  const bool is_platforms = options.token_file.empty() && token.empty();
  const std::string& path = is_platforms ? cluster.secret_file : options.token_file;
  if (!path.empty()) {
    source = "the token in '" + path + "'";
    auto file = TRY(gang::read_token_file(path));
    if (!file.warning.empty() && !is_platforms) {
      log_warning(file.warning);
    }
    token = std::move(file.token);
  } else if (token.empty()) {
    return std::shared_ptr<const gang::GangKey>();
  }
  auto key = gang::GangKey::derive(token);
  if (!key) {
    return Error{key.error().kind, source + ": " + key.error().message};
  }
  if (gang::is_weak(token)) {
    log_warning(source + " is easily guessed: it has few different bytes; 'muster token' prints a good one");
  }
  return std::make_shared<const gang::GangKey>(std::move(*key));
}

/// The nodes in the file of --bad-nodes; none if it cannot be read in time, so that it does not hold up the job.
std::vector<gang::BadNode> bad_nodes_of_earlier_jobs(const std::string& path) {
  constexpr std::chrono::seconds kReadTimeout{2};
  constexpr const char* kRead = "=";
  const auto work = [&]() -> std::string {
    if (!is_helper_process()) {  // a file system that hangs would block the agent
      return "cannot read '" + path + "': no process can be made for it";
    }
    auto text = preflight::read_bad_nodes(path);
    return text ? kRead + *text : text.error().message;
  };
  const auto answer = HelperTask::wait_for({work, kReadTimeout});
  if (!answer || !answer->starts_with(kRead)) {
    log_warning((answer ? *answer : "cannot read '" + path + "': its file system does not answer") +
                "; going on without the bad nodes of earlier jobs");
    return {};
  }
  preflight::BadNodes found = preflight::parse_bad_nodes(answer->substr(1), std::chrono::system_clock::now());
  if (found.unreadable > 0) {
    log_warning("'" + path + "' has " + count_of(found.unreadable, "line") + " that name no machine");
  }
  return std::move(found.nodes);
}

/// Decides how this node meets the other nodes of the job. Reads the token file. Fails if the token cannot be read or
/// is too short, and names its source.
Result<gang::GangSetup> make_gang_setup(const Cluster& cluster, const gang::GangOptions& options) {
  gang::GangSetup setup;
  setup.lead = choose_leader(cluster, options);
  const bool has_token = !options.token.empty() || !options.token_file.empty();
  if (cluster.job.most_nodes > 1 || has_token) {  // an invalid token is reported on one node too
    setup.key = TRY(make_key(options, cluster));
  }
  gang::GangConfig& config = setup.config;
  config.job = cluster.job;
  config.node = cluster.node;
  config.options = options;
  config.options.token.clear();  // the key holds it
  if (!options.machine.empty()) {
    config.node.machine = options.machine;
  }
  if (!options.bad_nodes.empty() && setup.lead != gang::Lead::Never) {
    std::error_code failed;  // a relative path stays relative when there is no working directory
    config.options.bad_nodes = std::filesystem::absolute(options.bad_nodes, failed).string();
    config.bad_nodes = bad_nodes_of_earlier_jobs(config.options.bad_nodes);
  }
  config.version = MUSTER_VERSION;
  config.host = cluster.master_address;
  config.host_from = cluster.master_address_from;
  config.port = cluster.gang_port;
  config.port_option = cluster.gang_port_option;
  config.hosts = cluster.hosts;
  config.seed = TRY(random_number());
  return setup;
}

/// Setup for a job of one node without a gang: a worker of another launcher.
gang::GangSetup make_lone_setup(const RunOptions& options) {
  gang::GangSetup setup;
  setup.config.node.rank = NodeRank{0};
  setup.config.node.host = options.host_name;
  setup.config.node.grace = options.grace;
  return setup;
}

/// Fails if the only start method needs a missing secret. With several methods the nodes agree on another one.
Result<> check_is_protected(const JobPlan& job, const ChosenMode& mode) {
  const bool is_open = job.gang.config.job.most_nodes > 1 && !job.gang.key;
  if (!is_open || !job.others.empty() || !needs_token(mode)) {
    return {};
  }
  return Error{ErrorKind::BadUsage, std::string("--mpi-start ") + name_of(mode.method.value()) +
                                        " needs a secret that the nodes share, or whoever reaches them could have them "
                                        "execute anything: give them one with --token-file (muster token makes it)" +
                                        (mode.method == MpiStart::Ssh ? ", or a key with --set ssh_key=FILE" : "")};
}

/// Plan of this node's part of the job, for all its attempts.
Result<JobPlan> make_job_plan(Planned planned, const Options& options) {
  JobPlan job;
  job.plan = std::move(planned.plan);
  if (!planned.input) {
    job.gang = make_lone_setup(options.run);
    return job;
  }
  const PlanInput& input = *planned.input;
  job.gang = TRY(make_gang_setup(input.cluster, options.gang));
  job.inputs = find_inputs(input.mode, input.cluster, input.snapshot, table_judge(input.snapshot));
  job.ports_to_reserve = most_listeners(input.mode.mode, input.cluster);
  TRY(add_start_methods(job, input, options.mode));
  TRY(check_is_protected(job, input.mode));
  job.input = std::move(planned.input);
  return job;
}

}  // namespace

Result<int> start_job(Planned planned, const Options& options, const Inherited& inherited, const Snapshot& snapshot) {
  const auto& launcher = options.run.launcher;
  const bool is_later_task =
      !options.is_verbose && planned.plan.cluster.share && planned.plan.placement.node_rank.value > 0;
  const bool do_others_log_it =  // only one agent of a shared console logs what all nodes would say alike
      is_later_task || (launcher && !launcher->is_first);
  const auto level = options.is_verbose ? Level::Debug : do_others_log_it ? Level::Warning : Level::Info;
  set_up_messages(level, may_colour(STDERR_FILENO, options.run.colour, snapshot.variables));
  // Passes on the socket by which an MPI process talks to its launcher: Hydra, srun --mpi=pmi2, Flux. The socket
  // serves one process, so several workers do not get it.
  const auto descriptor = parse_integer(snapshot.variable("PMI_FD").value_or(""), 3, kMostDescriptors);
  if (descriptor && planned.plan.workers.size() == 1) {
    pass_to_worker(*descriptor);
  }
  RunOptions run_options = options.run;
  if (!planned.log_dir.empty()) {
    run_options.log_dir = planned.log_dir;
    run_options.selection.add_folder();
  }
  run_options.caches = planned.caches;
  run_options.suspend.hai = find_hai_task(planned.plan, snapshot);
  if (planned.input) {
    run_options.grace = planned.input->cluster.node.grace;
  }
  EndFiles files = open_end_files(planned, options, snapshot);
  run_options.state_folder = files.state_folder;
  const int platform_restarts = planned.plan.cluster.platform_restarts;
  auto job = TRY(make_job_plan(std::move(planned), options));
  job.gang.config.earlier_runs = std::max(files.history.runs, platform_restarts);
  job.gang.config.last_verdict = files.history.verdict;
  auto exit_report = TRY(make_exit_report(options, files));
  TRY(check_record(run_options));
  exit_report.say = [&](const Outcome& outcome, const Result<>& report) {
    conclude(outcome, report, is_later_task);
    return control_lines_for_launcher(outcome, options.run.launcher);
  };
  return run(job, run_options, inherited, without_token(snapshot.variables), exit_report);
}

// Tries the report and the log folder in a helper process: a hanging file system would block before an agent can handle
// stop signals.

namespace {

constexpr std::chrono::seconds kCheckTimeout{1};

}  // namespace

Result<std::optional<int>> check_report(const Sourced<std::string>& file) {
  const auto try_in_helper = [&]() -> std::string {
    if (const auto stream = stream_of(file.value)) {
      return std::to_string(*stream);  // open in this process only
    }
    const auto prepared = prepare_report(file);
    return prepared ? "" : prepared.error().message;
  };
  const auto answer = HelperTask::wait_for({try_in_helper, kCheckTimeout});
  if (!answer) {
    log_warning("cannot try whether the report '" + file.value +
                "' can be written: its file system does not answer, going on");
    return std::optional<int>();
  }
  const auto stream = parse_integer(*answer, 0, std::numeric_limits<int>::max());
  if (!stream && !answer->empty()) {
    return Error{error_kind(file.source), *answer};
  }
  TRY(stream ? prepare_report(file) : Result<>());
  return stream;
}

Result<> check_log_dir(const Sourced<std::string>& folder) {
  const auto try_in_helper = [&]() -> std::string {
    const auto made = make_log_dir(folder);
    return made ? "" : made.error().message;
  };
  const auto answer = HelperTask::wait_for({try_in_helper, kCheckTimeout});
  if (!answer) {
    log_warning("cannot try whether the log folder '" + folder.value +
                "' can be written: its file system does not answer, going on");
  }
  return answer.value_or("").empty() ? Result<>() : Result<>(Error{ErrorKind::System, *answer});
}

// Reads the order of the remote launcher, which an agent gets instead of a command line.

namespace {

/// Timeout for the order, which a remote launcher sends at once.
constexpr int kTimeoutMilliseconds = 60'000;

Error no_order(const std::string& why) {
  return Error{ErrorKind::System,
               std::string("cannot read the order of a launcher, as ") + kAgentOption + " asks for: " + why};
}

/// Reads a part of the order, and no byte beyond the order, because the agent reads what follows.
Result<> read_some(FrameReader& reader) {
  pollfd ready{STDIN_FILENO, POLLIN, 0};
  if (::poll(&ready, 1, kTimeoutMilliseconds) == 0) {
    return no_order("nothing came");
  }
  std::array<char, 65'536> buffer{};
  const ssize_t size = ::read(STDIN_FILENO, buffer.data(), std::min(buffer.size(), reader.wanted()));
  if (size == 0) {
    return no_order("the launcher is gone");
  }
  if (size < 0 && errno != EINTR && errno != EAGAIN) {
    return system_error("cannot read the order of a launcher", errno);
  }
  reader.feed({buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))});
  return {};
}

/// Reads the next frame, in as many reads as it needs.
Result<Frame> read_frame(FrameReader& reader) {
  while (true) {
    auto frame = TRY(next_frame(reader));
    if (frame) {
      return std::move(*frame);
    }
    TRY(read_some(reader));
  }
}

Result<AgentOrder> read_order() {
  FrameReader reader(kMostFrameBytes);
  AgentOrder order;
  for (bool is_whole = false; !is_whole;) {
    const auto frame = TRY(read_frame(reader));
    is_whole = TRY(add_frame(order, frame));
  }
  return order;
}

}  // namespace

bool is_remote_agent(std::span<char* const> argv) {
  return argv.size() == 2 && std::string_view(argv[1]) == kAgentOption;
}

Result<RemoteOrder> read_remote_order() {
  auto order = TRY(read_order());
  if (order.version != MUSTER_VERSION) {
    log_warning("the muster on '" + order.host + "' is " + MUSTER_VERSION + ", and that of the launcher " +
                order.version);
  }
  const std::string& folder = order.working_directory;
  if (::chdir(folder.c_str()) != 0) {
    return Error{ErrorKind::BadEnvironment, system_error("cannot run the job in '" + folder + "' on '" + order.host +
                                                             "', the folder where it was started",
                                                         errno)
                                                .message};
  }
  RemoteOrder remote_order{std::move(order), UniqueFd(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3))};
  const UniqueFd null = open_null(NullFor::Reading);
  (void)::dup2(null.get(), STDIN_FILENO);
  return remote_order;
}

Snapshot take_snapshot(const AgentOrder& order) {
  Snapshot snapshot = take_snapshot();
  for (const auto& [name, value] : order.variables) {
    snapshot.variables.insert_or_assign(name, value);
  }
  return snapshot;
}

}  // namespace muster
