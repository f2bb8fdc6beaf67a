// Reads the options of gangs, logs and suspending as far as their rows do not.
#include "base/signals.hpp"
#include "base/text.hpp"
#include "compat/compat_launcher.hpp"
#include "notices/allocation_end.hpp"
#include "options/settings.hpp"
#include "preflight/bad_nodes.hpp"
#include "requests.hpp"
#include "subcommands.hpp"
#include "supervise/exit_status.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <set>

namespace muster {
namespace {

/// Reads the token. No error message may show it.
Result<> read_token(gang::GangOptions& options, const Settings& settings, const Snapshot& snapshot) {
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

/// Fails for --scale-up now with a strict --preflight: each unfit node that comes would stop the running workers.
Result<> check_scale_up(const gang::GangOptions& options, const Settings& settings) {
  const auto scale_up = settings.find("scale-up");
  const auto preflight = settings.find("preflight");
  const bool is_now = scale_up && options.scale_up == gang::ScaleUp::Now;
  if (is_now && preflight && options.preflight.compares == gang::ComparesNodes::Strictly) {
    return Error{error_kind(scale_up->source),
                 scale_up->source.name + " is 'now' but " + preflight->source.name + " is '" + preflight->value +
                     "': each unfit node that comes would stop the running workers; leave " + scale_up->source.name +
                     " out"};
  }
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

Result<std::optional<gang::Lead>> read_lead(const Sourced<std::string>& given) {
  using gang::Lead;
  constexpr Lead kByRank = Lead::Always;  // stands for auto, which the node's rank decides
  const Lead lead = TRY(read_word<"auto, reached or never", kByRank, Lead::IfReached, Lead::Never>(given));
  return lead == kByRank ? std::nullopt : std::optional(lead);
}

Result<gang::PreflightChoice> read_preflight(const Sourced<std::string>& given) {
  using gang::ComparesNodes;
  const std::vector<std::string> words = split(given.value, ',');
  const std::set<std::string> different(words.begin(), words.end());
  const bool is_alone = words == std::vector<std::string>{"auto"} || words == std::vector<std::string>{"off"};
  const auto is_known = [](const std::string& word) { return word == "strict" || word == "full" || word == "links"; };
  const bool is_list = !words.empty() && different.size() == words.size() && std::ranges::all_of(words, is_known);
  if (!is_alone && !is_list) {
    return wrong_value(given, "auto, off, or strict, full and links, joined by commas");
  }
  const ComparesNodes compares = different.contains("off")      ? ComparesNodes::Never
                                 : different.contains("strict") ? ComparesNodes::Strictly
                                                                : ComparesNodes::Auto;
  return gang::PreflightChoice{compares, different.contains("full"), different.contains("links")};
}

Result<std::string> read_machine(const Sourced<std::string>& given) {
  return preflight::is_machine_name(given.value) ? given.value
                                                 : Result<std::string>(wrong_value(given, "a name as hosts have it"));
}

Result<gang::GangOptions> read_gang_options(const Settings& settings, const Snapshot& snapshot) {
  gang::GangOptions options;
  TRY(read_rows(options, settings));
  TRY(read_rows(options.restarts, settings));
  options.restarts.max_restarts = TRY(read_max_restarts(snapshot, settings)).value;
  TRY(read_token(options, settings, snapshot));
  TRY(check_scale_up(options, settings));
  return options;
}

// Reads the options of consoles and log files.

namespace {

/// torchrun reads its template from this variable only.
constexpr const char* kTemplateOfTorchrun = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE";

Result<> read_prefix(RunOptions& options, const Settings& settings, const Snapshot& snapshot) {
  auto text = settings.find("prefix-template");
  auto unknown_names = UnknownNames::Refused;
  if (const auto inherited = snapshot.variable(kTemplateOfTorchrun); !text && inherited) {
    text = Sourced<std::string>{*inherited, from_variable(kTemplateOfTorchrun)};
    unknown_names = UnknownNames::Text;
  }
  if (!text) {
    return {};
  }
  options.prefix_template = TRY(PrefixTemplate::read(*text, unknown_names));
  return {};
}

}  // namespace

Result<When> read_when(const Sourced<std::string>& given) {
  return read_word<"auto, always or never", When::Auto, When::Always, When::Never>(given);
}

Result<ConsoleTimes> read_console_times(const Sourced<std::string>& given) {
  constexpr std::string_view kForWorkers = ",workers";
  ConsoleTimes times;
  times.of_workers = given.value.ends_with(kForWorkers);
  Sourced<std::string> form = given;
  form.value.resize(given.value.size() - (times.of_workers ? kForWorkers.size() : 0));
  const auto read = read_word<"off, relative, utc or local", ConsoleTime::Off, ConsoleTime::Relative, ConsoleTime::Utc,
                              ConsoleTime::Local>(form);
  if (!read) {
    return wrong_value(
        given, "off, relative, utc or local, optionally followed by ,workers for the lines of the workers, too");
  }
  times.clock.form = *read;
  return times;
}

Result<std::string> read_folder(const Sourced<std::string>& given) {
  return given.value.empty() ? Result<std::string>(wrong_value(given, "a folder")) : given.value;
}

Result<std::vector<std::string>> read_success_roles(const Sourced<std::string>& given) {
  auto roles = split(given.value, ',');
  return roles.empty() ? Result<std::vector<std::string>>(wrong_value(given, "names of roles such as chief,evaluator"))
                       : std::move(roles);
}

Result<std::optional<Source>> read_agent_store(const Sourced<std::string>& given) {
  const bool is_agent = TRY(read_word<"agent or worker", true, false>(given));
  return is_agent ? std::optional(given.source) : std::nullopt;
}

Result<> read_log_options(RunOptions& options, const Settings& settings, const Snapshot& snapshot) {
  options.selection = TRY(Selection::read({.redirects = settings.find("redirects"),
                                           .tee = settings.find("tee"),
                                           .local_ranks = settings.find("local-ranks-filter"),
                                           // With another launcher's layout, only requested files are written.
                                           .has_folder = settings.has("log-dir") && !settings.has(kLogLayout)}));
  options.log_dir = settings.find("log-dir").value_or(Sourced<std::string>{}).value;
  return read_prefix(options, settings, snapshot);
}

// Reads the options that suspend the job after a notice.

namespace {

/// Signals that cannot be notices: the kernel acts on them itself, or sends them for reasons of its own.
constexpr auto kNoNotices = std::to_array({SIGKILL, SIGSTOP, SIGCHLD, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE,
                                           SIGWINCH, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS});

}  // namespace

Result<int> read_notice_signal(const Sourced<std::string>& given) {
  const auto signal = parse_signal(trim(given.value));
  if (!signal) {
    return wrong_value(given, "a signal such as TERM or USR1");
  }
  if (contains(kNoNotices, *signal)) {
    return wrong_value(given, "a signal that can be a notice, not " + signal_name(*signal));
  }
  return *signal;
}

/// Reads the signal that tells workers of a notice. Refuses INT: Python always catches it, and then ends the program.
Result<int> read_worker_signal(const Sourced<std::string>& given) {
  const int signal = TRY(read_notice_signal(given));
  return is_from_keyboard(signal)
             ? wrong_value(given,
                           "a signal for which programs have a handler of their own, such as TERM or USR1, not " +
                               signal_name(signal))
             : Result<int>(signal);
}

Result<> read_suspend_options(RunOptions& options, const Settings& settings, const Snapshot& snapshot) {
  SuspendOptions& suspend = options.suspend;
  TRY(read_rows(suspend, settings));
  if (suspend.signal) {
    const Sourced<std::string> given = *settings.find("suspend-signal");
    if (!options.stop_signals.make_notice(*suspend.signal)) {
      return Error{error_kind(given.source), given.source.name + " is '" + given.value + "', and " +
                                                 settings.find("signals-to-handle")->source.name +
                                                 " names it as a signal that ends the job"};
    }
  }
  suspend.allocation_end = find_allocation_end(snapshot, suspend.before_end.has_value());
  if (suspend.before_end && !suspend.allocation_end) {
    return wrong_value(*settings.find("suspend-before-end"),
                       "an allocation whose end is known: by SLURM_JOB_END_TIME, 'flux job "
                       "timeleft', or the time_left of LSF's bjobs");
  }
  return {};
}

}  // namespace muster
