// Starts the agents of a job on listed hosts: makes the plan of the remote launcher, runs it and reports the end.
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "environment/local_host.hpp"
#include "gang/net/token.hpp"
#include "options/settings.hpp"
#include "output/output_queues.hpp"
#include "remote/remote_launcher.hpp"
#include "report/report.hpp"
#include "start_job.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace muster {
namespace {

/// Options for the remote launcher only.
constexpr auto kLauncherOnly = std::to_array<const char*>(
    {"hosts", "hostfile", kIncludedHosts, kExcludedHosts, kProcessesOfHosts, kProcessesPerHost, kMayOversubscribe,
     "remote-shell", "forward-env", "nnodes", "token-file", "report", "color", "json"});

/// Options that the list of hosts replaces.
constexpr auto kSetByList = std::to_array<const char*>({"node-rank", "total-workers"});

Sourced<std::string> list_of(const Settings& settings) {
  const auto hosts = settings.find("hosts");
  return hosts ? *hosts : *settings.find("hostfile");
}

Error contradict(const Sourced<std::string>& one, const Sourced<std::string>& list,
                 const std::string& why = "the list of hosts says who the nodes are") {
  return Error{error_kind(one.source), one.source.name + " is '" + one.value + "' but " + list.source.name + " is '" +
                                           list.value + "': " + why};
}

/// Keeps the first --nnodes hosts of the list.
Result<> limit_nodes(Sourced<std::vector<GivenHost>>& hosts, const Settings& settings) {
  const auto nodes = settings.find("nnodes");
  if (!nodes) {
    return {};
  }
  const auto listed = static_cast<int>(hosts.value.size());
  const auto count = parse_integer(nodes->value, 1, listed);
  if (!count) {
    return wrong_value(*nodes,
                       "a number up to " + std::to_string(listed) + ", the number of hosts in " + hosts.source.name);
  }
  hosts.value.resize(static_cast<std::size_t>(*count));
  return {};
}

Result<> check_slots(const std::vector<GivenHost>& hosts, const Settings& settings) {
  const auto given = settings.find("nproc-per-node");
  constexpr int kMost = 1'000'000;
  const auto count = given ? parse_integer(given->value, 1, kMost) : std::nullopt;
  for (const GivenHost& host : hosts) {
    if (count && host.slots && *count > *host.slots) {
      return wrong_value(*given, "at most " + std::to_string(*host.slots) + ", the slots of '" + host.host + "'");
    }
  }
  return {};
}

bool is_in_path(const std::string& program, const Snapshot& snapshot) {
  const std::vector<std::string> folders = split(snapshot.variable("PATH").value_or(""), ':');
  return std::ranges::any_of(
      folders, [&](const std::string& folder) { return ::access((folder + "/" + program).c_str(), X_OK) == 0; });
}

Result<RemoteShell> choose_shell(const Settings& settings, const Snapshot& snapshot) {
  const auto given = settings.find("remote-shell");
  if (given) {
    return read_remote_shell(*given);
  }
  return snapshot.has("SLURM_JOB_ID") && is_in_path("srun", snapshot) ? slurms_srun() : plain_ssh();
}

/// The user's token, or a new one: a job from a remote launcher always has secret links.
Result<std::string> choose_token(const gang::GangOptions& options) {
  if (!options.token.empty()) {
    return options.token;
  }
  if (options.token_file.empty()) {
    return random_digits(gang::kGoodTokenBytes);
  }
  auto file = TRY(gang::read_token_file(options.token_file));
  if (!file.warning.empty()) {
    log_warning(file.warning);
  }
  return std::move(file.token);
}

/// Command line for the agents, without the remote launcher's options.
CommandLine line_of_agents(const CommandLine& line, const Options& options, const Snapshot& snapshot) {
  CommandLine result = line;
  result.command = Command::Run;
  result.notices.clear();
  result.settings = Settings{};
  line.settings.for_each([&](const std::string& name, const Sourced<std::string>& setting) {
    if (!contains(kLauncherOnly, name)) {
      result.settings.set(name, setting);
    }
  });
  const bool colours = may_colour(STDERR_FILENO, options.run.colour, snapshot.variables);
  result.settings.set("color", {colours ? "always" : "never", {}});
  return result;
}

Result<AgentOrder> make_order(const CommandLine& line, const Options& options, const Snapshot& snapshot) {
  const auto names = TRY(read_forwarding(line.settings.find("forward-env")));
  auto token = TRY(choose_token(options.gang));
  AgentOrder order;
  order.version = MUSTER_VERSION;
  order.nonce = TRY(random_digits());
  order.working_directory = snapshot.working_directory;
  order.variables = choose_variables(snapshot.variables, names);
  order.variables.insert_or_assign(kTokenVariable, std::move(token));
  order.terminals = find_terminals();
  order.line = line_of_agents(line, options, snapshot);
  return order;
}

/// Outcome of a job that the remote launcher has ended. Otherwise the agents report the outcome.
Outcome outcome_of(const RemoteOutcome& remote, const Options& options) {
  Outcome outcome;
  outcome.end = *remote.end;
  outcome.host_name = options.run.host_name;
  outcome.run_time_seconds = remote.run_time_seconds;
  outcome.ended_at = std::chrono::system_clock::now();
  return outcome;
}

/// Takes the last lines out of the report of the first node. Empty: an older muster has sent none.
std::vector<std::string> take_lines(json::value& report) {
  std::vector<std::string> lines;
  json::object* const object = report.if_object();
  const json::value* const sent = object != nullptr ? object->if_contains(kLinesOfReport) : nullptr;
  for (const json::value& line : sent != nullptr && sent->is_array() ? sent->get_array() : json::array()) {
    lines.emplace_back(line.is_string() ? std::string_view(line.get_string()) : "");
  }
  if (object != nullptr) {
    object->erase(kLinesOfReport);
  }
  return lines;
}

/// Makes the two functions by which the remote launcher reports at the end. The first writes and keeps a report: the
/// launcher's own if the launcher ended the job, else that of the first node. The second prints the launcher's own
/// sentences if the launcher ended the job, and warns if the report could not be written.
LauncherExitReport make_words(const Options& options, const std::optional<ReportKeeper>& keeper) {
  LauncherExitReport words;
  if (options.report || keeper) {
    words.write_report = [&options, keeper](const RemoteOutcome& remote) {
      json::value report = remote.end ? to_document(outcome_of(remote, options)) : json::parse(remote.report);
      const auto lines = remote.end ? texts_of(describe_outcome(outcome_of(remote, options))) : take_lines(report);
      const auto written = options.report ? write_report(json::serialize(report), options.report->value) : Result<>();
      const auto kept = keeper ? keeper->keep_report(report, lines) : Result<>();
      return written ? kept : written;
    };
  }
  words.say = [&options](const RemoteOutcome& remote, const Result<>& report) {
    const auto lines = remote.end ? describe_outcome(outcome_of(remote, options)) : std::vector<ReportLine>();
    for (const ReportLine& line : lines) {
      say(line.level, line.text);
    }
    if (!report) {
      log_warning(report.error().message);
    }
  };
  return words;
}

/// Fails for options that contradict a list of hosts.
Result<> check_alone(const Settings& settings, const Options& options, const Snapshot& snapshot) {
  if (options.is_worker_already) {
    return contradict(list_of(settings), {snapshot.variable("LOCAL_RANK").value_or(""), from_variable("LOCAL_RANK")},
                      "this is already a worker of another launcher; leave the list of hosts out");
  }
  for (const char* const name : kSetByList) {
    if (const auto setting = settings.find(name)) {
      return contradict(*setting, list_of(settings));
    }
  }
  if (const auto rank = settings.find("stdin")) {
    return contradict(*rank, list_of(settings), "standard input does not go along to other hosts");
  }
  // Fails if the platform starts muster on each node: each of them would start the whole job again.
  const Sourced<std::string> list = list_of(settings);
  const auto platform = settings.find("platform");
  if (platform && platform->value != "flags") {
    return contradict(*platform, list);
  }
  const auto starter = platform ? std::nullopt : find_starter(snapshot);
  return starter ? refuse_list(list, *starter) : Result<>();
}

}  // namespace

bool lists_hosts(const CommandLine& line) {
  return line.settings.has("hosts") || line.settings.has("hostfile");
}

Result<FanOut> plan_fan_out(const CommandLine& line, const Options& options, const Snapshot& snapshot) {
  const Settings& settings = line.settings;
  TRY(check_alone(settings, options, snapshot));
  auto hosts = TRY(read_given_hosts(settings));
  TRY(limit_nodes(hosts, settings));
  TRY(check_slots(hosts.value, settings));
  // Marks the hosts that are this machine, with a login as the user of this process on ssh's default port.
  const std::string user = ::geteuid() == 0 ? "root" : snapshot.variable("USER").value_or("");
  for (GivenHost& host : hosts.value) {
    const bool is_own_login = host.login == host.host || host.login == user + "@" + host.host;
    host.is_here = is_own_login && is_this_host(host.host, snapshot);
  }
  auto shell = TRY(choose_shell(settings, snapshot));
  auto order = TRY(make_order(line, options, snapshot));
  std::error_code ignored;  // the path is empty if /proc does not have it
  const std::string own_path = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  return FanOut{std::move(hosts), std::move(shell), agent_command(own_path), snapshot.host_name, std::move(order)};
}

Result<int> start_fan_out(const FanOut& fan_out, const Options& options, const Inherited& inherited,
                          const Snapshot& snapshot) {
  const auto level = options.is_verbose ? Level::Debug : Level::Info;
  set_up_messages(level, may_colour(STDERR_FILENO, options.run.colour, snapshot.variables));
  RemoteJob job;
  job.plan = make_launcher_plan(fan_out);
  LauncherExitReport words = make_words(options, make_report_keeper(options, "", snapshot));
  if (options.report) {
    words.stream = TRY(check_report(*options.report));
  }
  job.nonce = fan_out.order.nonce;
  job.start_timeout = options.gang.timeout;
  for (std::size_t i = 0; i < fan_out.hosts.value.size(); ++i) {
    job.hosts.push_back(fan_out.hosts.value[i].host);
    job.orders.push_back(write_order(order_of(fan_out, i)));
  }
  return run_remote_launcher(job, options.run, inherited, snapshot.variables, words);
}

}  // namespace muster
