// Parses the names of signals as people write them.
#include "base/signals.hpp"

#include "base/text.hpp"

#include <array>
#include <csignal>
#include <cstring>
#include <string>
#include <utility>

namespace muster {
namespace {

/// Alternative names of signals; the C library knows only the first ones.
constexpr auto kOtherNames =
    std::to_array<std::pair<std::string_view, int>>({{"CLD", SIGCHLD}, {"IO", SIGIO}, {"IOT", SIGABRT}});

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
  const auto more = name.front() == '+' ? parse_integer(name.substr(1), 0, SIGRTMAX - SIGRTMIN) : std::nullopt;
  return more ? std::optional(SIGRTMIN + *more) : std::nullopt;
}

}  // namespace

std::optional<int> parse_signal(std::string_view name) {
  const std::string upper = to_upper(name);
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

bool is_from_keyboard(int signal) {
  return signal == SIGINT || signal == SIGQUIT;
}

}  // namespace muster
