// Which signals ask the job to end. Pure.
#include <muster/base/text.hpp>
#include <muster/supervise/exit_status.hpp>
#include <muster/supervise/stop_signals.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>

namespace muster {
namespace {

constexpr auto kAlways = std::to_array({SIGTERM, SIGINT, SIGHUP, SIGQUIT});

/// These arrive without that anybody asks for anything, or not at all.
constexpr auto kNoRequests = std::to_array(
    {SIGKILL, SIGSTOP, SIGCHLD, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE, SIGXFSZ});

/// Second names of signals; the system knows only the first ones.
constexpr auto kOtherNames = std::to_array<std::pair<std::string_view, int>>(
    {{"CLD", SIGCHLD}, {"IO", SIGIO}, {"IOT", SIGABRT}});

std::optional<int> parse_real_time(std::string_view name) {
  constexpr std::string_view kFirst = "RTMIN";
  if (name == "RTMAX") {
    return SIGRTMAX;
  }
  if (!name.starts_with(kFirst)) {
    return std::nullopt;
  }
  name.remove_prefix(kFirst.size());
  if (name.empty()) {
    return SIGRTMIN;
  }
  const auto more =
      name.front() == '+' ? parse_integer(name.substr(1), 0, SIGRTMAX - SIGRTMIN) : std::nullopt;
  return more ? std::optional(SIGRTMIN + *more) : std::nullopt;
}

}  // namespace

std::optional<int> parse_signal(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) {
    return static_cast<char>(std::toupper(c));
  });
  const std::string_view word = std::string_view(upper).substr(upper.starts_with("SIG") ? 3 : 0);
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    const char* const known = sigabbrev_np(signal);
    if (known != nullptr && word == known) {
      return signal;
    }
  }
  for (const auto& [other, signal] : kOtherNames) {
    if (word == other) {
      return signal;
    }
  }
  return parse_real_time(word);
}

StopSignals::StopSignals()
    : asked_for_(kAlways.begin(), kAlways.end()), all_(kAlways.begin(), kAlways.end()) {}

Result<StopSignals> StopSignals::read(const std::optional<Sourced<std::string>>& given) {
  StopSignals signals;
  if (!given) {
    return signals;
  }
  const auto names = split(given->value, ',');
  const Error no_names =
      wrong_value(*given, "names of signals separated by commas, such as SIGUSR1,SIGUSR2");
  if (names.empty()) {
    return no_names;
  }
  signals.asked_for_.clear();
  for (const std::string& name : names) {
    const auto signal = parse_signal(trim(name));
    if (!signal) {
      return no_names;
    }
    if (std::find(kNoRequests.begin(), kNoRequests.end(), *signal) != kNoRequests.end()) {
      return wrong_value(*given, "signals that can ask for an end, not " + signal_name(*signal));
    }
    signals.asked_for_.push_back(*signal);
    signals.all_.insert(*signal);
  }
  return signals;
}

std::string StopSignals::to_text() const {
  std::vector<std::string> names;
  for (const int signal : asked_for_) {
    names.push_back(signal_name(signal));
  }
  return join(names, ",");
}

}  // namespace muster
