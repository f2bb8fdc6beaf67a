// Reads the options of several nodes, of restarting and of ranks that end early.
#include "requests.hpp"

#include "base/text.hpp"
#include "options/typed_settings.hpp"

namespace muster {
namespace {

/// The token itself, unlike MUSTER_TOKEN_FILE: command lines are public, so there is no --token.
constexpr const char* kTokenVariable = "MUSTER_TOKEN";

Result<> read_restarts(gang::RestartPolicy& restarts,
                       const Settings& settings,
                       const Snapshot& snapshot) {
  constexpr int kMostAttempts = 1'000'000;
  const auto most = read_max_restarts(snapshot, settings);
  if (!most) {
    return most.error();
  }
  restarts.max_restarts = most->value;
  if (auto read =
          read_duration(restarts.window, settings, "restart-window", {.is_least_allowed = false});
      !read) {
    return read;
  }
  if (auto read = read_duration(restarts.backoff, settings, "restart-backoff"); !read) {
    return read;
  }
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
  if (auto read =
          read_duration(options.timeout, settings, "gang-timeout", {.is_least_allowed = false});
      !read) {
    return read;
  }
  for (const auto& [name, target] : {std::pair("last-call", &options.last_call),
                                     std::pair("inputs-timeout", &options.inputs_timeout),
                                     std::pair("rank-table-timeout", &options.inputs_timeout),
                                     std::pair("suspend-timeout", &options.suspend_timeout)}) {
    if (auto read = read_duration(*target, settings, name); !read) {
      return read;
    }
  }
  return read_duration(
      options.heartbeat_timeout, settings, "heartbeat-timeout", {.least = 1, .most = 3600});
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
  return read_duration(
      options.early_exit_timeout, settings, "early-exit-timeout", {.is_least_allowed = false});
}

/// No message shows the token.
Result<> read_token(gang::GangOptions& options,
                    const Settings& settings,
                    const Snapshot& snapshot) {
  if (auto read = read_file_name(options.token_file, settings, "token-file"); !read) {
    return read;
  }
  const auto token = snapshot.variable(kTokenVariable);
  if (!token) {
    return {};
  }
  if (const auto file = settings.find("token-file")) {
    return Error{blame(file->source),
                 std::string(kTokenVariable) + " is set but " + file->source.name + " is '" +
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
  if (auto read = read_lead(options, settings); !read) {
    return read.error();
  }
  if (auto read = read_meeting(options, settings); !read) {
    return read.error();
  }
  if (auto read = read_restarts(options.restarts, settings, snapshot); !read) {
    return read.error();
  }
  if (auto read = read_scale_up(options, settings); !read) {
    return read.error();
  }
  if (auto read = read_early_exit(options, settings); !read) {
    return read.error();
  }
  if (auto read = read_token(options, settings, snapshot); !read) {
    return read.error();
  }
  return options;
}

}  // namespace muster
