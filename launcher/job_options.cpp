// Reads the options of gangs, logs and suspending as far as their rows do not, and the end of a batch system's allocation.
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

Result<gang::GangOptions> read_gang_options(const Settings& settings, const Snapshot& snapshot) {
  gang::GangOptions options;
  TRY(read_rows(options, settings));
  TRY(read_rows(options.restarts, settings));
  options.restarts.max_restarts = TRY(read_max_restarts(snapshot, settings)).value;
  TRY(read_token(options, settings, snapshot));
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

/// Signals that cannot be notices: the kernel handles them, or they arrive without a sender of notices.
constexpr auto kNoNotices =
    std::to_array({SIGKILL, SIGSTOP, SIGCHLD, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE, SIGWINCH});

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
