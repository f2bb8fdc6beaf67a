// Reads the options of gangs, logs, suspending and control commands, and the end of a batch system's allocation.
#include "base/signals.hpp"
#include "base/text.hpp"
#include "compat/compat_launcher.hpp"
#include "options/settings.hpp"
#include "process/helper_process.hpp"
#include "requests.hpp"
#include "subcommands.hpp"
#include "supervise/exit_status.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <system_error>

namespace muster {
namespace {

/// Variable with the token itself, unlike MUSTER_TOKEN_FILE. There is no --token because command lines are public.
constexpr const char* kTokenVariable = "MUSTER_TOKEN";

Result<> read_restarts(gang::RestartPolicy& restarts, const Settings& settings, const Snapshot& snapshot) {
  constexpr int kMostAttempts = 1'000'000;
  const auto most = TRY(read_max_restarts(snapshot, settings));
  restarts.max_restarts = most.value;
  TRY(read_duration(restarts.window, settings, "restart-window", {.is_least_allowed = false}));
  TRY(read_duration(restarts.backoff, settings, "restart-backoff"));
  if (const auto limit = settings.find("no-progress-limit")) {
    const auto attempts = parse_integer(limit->value, 0, kMostAttempts);
    if (!attempts) {
      return wrong_value(*limit, "a number of attempts from 0 to " + std::to_string(kMostAttempts));
    }
    restarts.no_progress_limit = *attempts;
  }
  return read_file_name(restarts.progress_file, settings, "progress-file");
}

Result<> read_scale_up(gang::GangOptions& options, const Settings& settings) {
  const auto when = settings.find("scale-up");
  if (when && when->value != "restart" && when->value != "now") {
    return wrong_value(*when, "restart or now");
  }
  if (when && when->value == "now") {
    options.scale_up = gang::ScaleUp::Now;
  }
  return {};
}

Result<> read_lead(gang::GangOptions& options, const Settings& settings) {
  using gang::Lead;
  const auto when = settings.find("lead");
  if (!when || when->value == "auto") {
    return {};
  }
  if (when->value != "reached" && when->value != "never") {
    return wrong_value(*when, "auto, reached or never");
  }
  options.lead = when->value == "reached" ? Lead::IfReached : Lead::Never;
  return {};
}

Result<> read_meeting(gang::GangOptions& options, const Settings& settings) {
  TRY(read_duration(options.timeout, settings, "gang-timeout", {.is_least_allowed = false}));
  for (const auto& [name, target] :
       {std::pair("last-call", &options.last_call), std::pair("inputs-timeout", &options.inputs_timeout),
        std::pair("rank-table-timeout", &options.inputs_timeout),
        std::pair("suspend-timeout", &options.suspend_timeout)}) {
    TRY(read_duration(*target, settings, name));
  }
  return read_duration(options.heartbeat_timeout, settings, "heartbeat-timeout", {.least = 1, .most = 3600});
}

Result<> read_early_exit(gang::GangOptions& options, const Settings& settings) {
  if (const auto what = settings.find("on-early-exit")) {
    if (what->value != "wait" && what->value != "fail") {
      return wrong_value(*what, "wait or fail");
    }
    if (what->value == "fail") {
      options.on_early_exit = gang::OnEarlyExit::Fail;
    }
  }
  return read_duration(options.early_exit_timeout, settings, "early-exit-timeout", {.is_least_allowed = false});
}

/// Reads the token. No error message may show it.
Result<> read_token(gang::GangOptions& options, const Settings& settings, const Snapshot& snapshot) {
  TRY(read_file_name(options.token_file, settings, "token-file"));
  const auto token = snapshot.variable(kTokenVariable);
  if (!token) {
    return {};
  }
  if (const auto file = settings.find("token-file")) {
    return Error{error_kind(file->source), std::string(kTokenVariable) + " is set but " + file->source.name + " is '" +
                                               file->value + "': both give the job's token"};
  }
  if (token->empty()) {
    return wrong_value({"", from_option(kTokenVariable)}, "the token of the job");
  }
  options.token = *token;
  return {};
}

}  // namespace

void wipe_token() {
  wipe_variable(kTokenVariable);
}

std::map<std::string, std::string> without_token(std::map<std::string, std::string> variables) {
  variables.erase(kTokenVariable);
  return variables;
}

Result<gang::GangOptions> read_gang_options(const Settings& settings, const Snapshot& snapshot) {
  gang::GangOptions options;
  TRY(read_lead(options, settings));
  TRY(read_meeting(options, settings));
  TRY(read_restarts(options.restarts, settings, snapshot));
  TRY(read_scale_up(options, settings));
  TRY(read_early_exit(options, settings));
  TRY(read_token(options, settings, snapshot));
  return options;
}

// Reads the options of consoles and log files.

namespace {

/// torchrun reads its template from this variable only.
constexpr const char* kTemplateOfTorchrun = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE";

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

Result<> read_filter(LineFilter& target, const Settings& settings, std::string_view name) {
  const auto setting = settings.find(name);
  if (!setting) {
    return {};
  }
  auto filter = TRY(LineFilter::read(*setting));
  target = std::move(filter);
  return {};
}

Result<> read_prefix_when(PrefixWhen& target, const Settings& settings) {
  const auto setting = settings.find("prefix");
  if (!setting) {
    return {};
  }
  for (const auto& [word, when] : {std::pair("auto", PrefixWhen::Auto), std::pair("terminal", PrefixWhen::OnTerminal),
                                   std::pair("always", PrefixWhen::Always), std::pair("never", PrefixWhen::Never)}) {
    if (setting->value == word) {
      target = when;
      return {};
    }
  }
  return wrong_value(*setting, "auto, terminal, always or never");
}

Result<> read_prefix(RunOptions& options, const Settings& settings, const Snapshot& snapshot) {
  TRY(read_prefix_when(options.prefix, settings));
  auto text = settings.find("prefix-template");
  auto unknown_names = UnknownNames::Refused;
  if (const auto inherited = snapshot.variable(kTemplateOfTorchrun); !text && inherited) {
    text = Sourced<std::string>{*inherited, from_variable(kTemplateOfTorchrun)};
    unknown_names = UnknownNames::Text;
  }
  if (!text) {
    return {};
  }
  auto prefix = TRY(PrefixTemplate::read(*text, unknown_names));
  options.prefix_template = std::move(prefix);
  return {};
}

}  // namespace

Result<> read_log_options(RunOptions& options, const Settings& settings, const Snapshot& snapshot) {
  auto selection = TRY(Selection::read({.redirects = settings.find("redirects"),
                                        .tee = settings.find("tee"),
                                        .local_ranks = settings.find("local-ranks-filter"),
                                        // With another launcher's layout, only requested files are written.
                                        .has_folder = settings.has("log-dir") && !settings.has(kLogLayout)}));
  options.selection = std::move(selection);
  if (const auto folder = settings.find("log-dir")) {
    options.log_dir = folder->value;
  }
  for (const auto& [name, target] : {std::pair("duplicate-stdout-filters", &options.duplicate_out),
                                     std::pair("duplicate-stderr-filters", &options.duplicate_err)}) {
    TRY(read_filter(*target, settings, name));
  }
  for (const auto& [name, target] : {std::pair("color", &options.colour), std::pair("tty", &options.terminals)}) {
    TRY(read_when(*target, settings, name));
  }
  return read_prefix(options, settings, snapshot);
}

// Reads the options that suspend the job after a notice.

namespace {

/// Signals that cannot be notices: the kernel handles them, or they arrive without a sender of notices.
constexpr auto kNoNotices =
    std::to_array({SIGKILL, SIGSTOP, SIGCHLD, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE, SIGWINCH});

Result<> read_signal(std::optional<int>& target, const Settings& settings, const char* name) {
  const auto given = settings.find(name);
  if (!given) {
    return {};
  }
  const auto signal = parse_signal(trim(given->value));
  if (!signal) {
    return wrong_value(*given, "a signal such as TERM or USR1");
  }
  if (std::find(kNoNotices.begin(), kNoNotices.end(), *signal) != kNoNotices.end()) {
    return wrong_value(*given, "a signal that can be a notice, not " + signal_name(*signal));
  }
  target = *signal;
  return {};
}

Result<> read_cloud(std::optional<Cloud>& target, const Settings& settings) {
  const auto given = settings.find("watch-notices");
  if (!given) {
    return {};
  }
  for (const auto& [name, cloud] :
       {std::pair("aws", Cloud::Aws), std::pair("gcp", Cloud::Gcp), std::pair("azure", Cloud::Azure)}) {
    if (given->value == name) {
      target = cloud;
      return {};
    }
  }
  return wrong_value(*given, "aws, gcp or azure");
}

}  // namespace

Result<> read_suspend_options(RunOptions& options, const Settings& settings, const Snapshot& snapshot) {
  SuspendOptions& suspend = options.suspend;
  for (const auto& [name, target] :
       {std::pair("suspend-signal", &suspend.signal), std::pair("tell-workers-by", &suspend.worker_signal)}) {
    TRY(read_signal(*target, settings, name));
  }
  if (suspend.signal) {
    const Sourced<std::string> given = *settings.find("suspend-signal");
    if (!options.stop_signals.make_notice(*suspend.signal)) {
      return Error{error_kind(given.source), given.source.name + " is '" + given.value + "', and " +
                                                 settings.find("signals-to-handle")->source.name +
                                                 " names it as a signal that ends the job"};
    }
  }
  TRY(read_cloud(suspend.watched, settings));
  TRY(read_duration(suspend.before_end, settings, "suspend-before-end", {.is_least_allowed = false}));
  suspend.allocation_end = find_allocation_end(snapshot, suspend.before_end.has_value());
  if (suspend.before_end && !suspend.allocation_end) {
    return wrong_value(*settings.find("suspend-before-end"),
                       "an allocation whose end is known: by SLURM_JOB_END_TIME, 'flux job "
                       "timeleft', or the time_left of LSF's bjobs");
  }
  return {};
}

// The options of `muster status`, `stop` and `suspend`.

namespace {

#define MUSTER_JOB_OPTION(SECTION) \
  { "job", '\0', "ID|PID", SECTION, "The job: its id, or the pid of muster. Needed where several run on this machine." }
#define MUSTER_HELP_OPTION(SECTION) \
  { "help", 'h', nullptr, SECTION, "Print this text." }

constexpr auto kStatusTable = std::to_array<Option>({
    MUSTER_JOB_OPTION("Status"),
    {"watch", '\0', nullptr, "Status", "Show it anew every two seconds, until the job ends."},
    {"json", '\0', nullptr, "Status", "Print JSON."},
    MUSTER_HELP_OPTION("Status"),
});

constexpr auto kStopTable = std::to_array<Option>({
    MUSTER_JOB_OPTION("Stop"),
    {"grace", '\0', "SECONDS", "Stop",
     "Time between asking the workers to end and killing them, at most what the job was started "
     "with."},
    MUSTER_HELP_OPTION("Stop"),
});

constexpr auto kSuspendTable = std::to_array<Option>({
    MUSTER_JOB_OPTION("Suspend"),
    {"within", '\0', "SECONDS", "Suspend",
     "Time for the workers to save, at most the job's --suspend-timeout, which is the default."},
    {"reason", '\0', "TEXT", "Suspend", "Why, for the report and the workers."},
    {"cancel", '\0', nullptr, "Suspend", "Withdraw the notice: the job goes on."},
    MUSTER_HELP_OPTION("Suspend"),
});

#undef MUSTER_JOB_OPTION
#undef MUSTER_HELP_OPTION

}  // namespace

OptionTable control_options(Command command) {
  if (command == Command::Status) {
    return {kStatusTable, {}, {}, "muster status"};
  }
  return command == Command::Stop ? OptionTable{kStopTable, {}, {}, "muster stop"}
                                  : OptionTable{kSuspendTable, {}, {}, "muster suspend"};
}

// Reads the time limit of batch systems. Source: sbatch(1), flux-job(1), bjobs(1).

namespace {

using Clock = std::chrono::system_clock;

constexpr int kMostNumber = std::numeric_limits<int>::max();

/// Reads seconds since 1970. Empty for anything but a positive whole number.
std::optional<Clock::time_point> parse_end(const std::string& text) {
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  constexpr std::int64_t kLatestEnd = 9'000'000'000;  // the clock has 64-bit nanoseconds
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  if (!is_whole || seconds <= 0 || seconds > kLatestEnd) {
    return std::nullopt;
  }
  return Clock::time_point(std::chrono::seconds(seconds));
}

/// The first line that a command prints. `timeout` kills a hanging command before the helper process times out.
std::optional<std::string> first_line_of(const std::string& command) {
  constexpr std::chrono::seconds kQueryTimeout{6};
  const auto run = [&] {
    std::array<char, 256> line{};
    // NOLINTNEXTLINE(cert-env33-c): the command is muster's own, with a number for the job
    std::FILE* const output = ::popen(("timeout -k 1 4 " + command + " 2>/dev/null").c_str(), "re");
    if (output != nullptr) {
      (void)std::fgets(line.data(), line.size(), output);
      (void)::pclose(output);
    }
    return std::string(trim(line.data()));
  };
  return HelperTask::wait_for({run, kQueryTimeout});
}

std::optional<std::chrono::seconds> ask_for_time_left(const Snapshot& snapshot) {
  if (snapshot.has("FLUX_JOB_ID") || snapshot.has("FLUX_URI")) {
    const auto text = first_line_of("flux job timeleft");
    return text ? parse_flux_time_left(*text) : std::nullopt;
  }
  const auto job = snapshot.variable("LSB_JOBID");
  if (!job || !parse_integer(*job, 1, kMostNumber)) {
    return std::nullopt;
  }
  const auto text = first_line_of("bjobs -noheader -o time_left " + *job);
  return text ? parse_lsf_time_left(*text) : std::nullopt;
}

}  // namespace

std::optional<std::chrono::seconds> parse_flux_time_left(std::string_view text) {
  const auto seconds = parse_integer(text, 0, kMostNumber);
  return seconds ? std::optional(std::chrono::seconds(*seconds)) : std::nullopt;
}

std::optional<std::chrono::seconds> parse_lsf_time_left(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || !text.ends_with(" L")) {
    return std::nullopt;
  }
  const auto hours = parse_integer(text.substr(0, colon), 0, kMostNumber / 3600 - 1);
  std::string_view digits = text.substr(colon + 1, text.size() - colon - 3);
  // "05" is 5.
  digits.remove_prefix(digits.size() == 2 && digits.front() == '0' ? 1 : 0);
  const auto minutes = parse_integer(digits, 0, 59);
  if (!hours || !minutes) {
    return std::nullopt;
  }
  return std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
}

std::optional<Clock::time_point> find_allocation_end(const Snapshot& snapshot, bool may_ask) {
  if (const auto given = snapshot.variable("SLURM_JOB_END_TIME")) {
    return parse_end(*given);
  }
  const auto left = may_ask ? ask_for_time_left(snapshot) : std::nullopt;
  return left ? std::optional(Clock::now() + *left) : std::nullopt;
}

}  // namespace muster
