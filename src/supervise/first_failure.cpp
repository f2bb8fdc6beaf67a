// Ranks failures by their evidence: a crash by signal, an error of its own, a message about a lost peer.
#include "supervise/first_failure.hpp"

#include "base/text.hpp"
#include "supervise/end_hints.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

namespace muster {
namespace {

/// True if lower-case words name the rank that did not answer.
bool names_another_rank(const std::string& words) {
  return has_pattern(words, "names");
}

/// Classifies only by the output of the process. A message that names the rank that did not answer is more than a
/// consequence, although it quotes the error of a lost peer.
FailureKind trace_of_words(const std::vector<std::string>& last_lines, const std::string& error_message) {
  const std::string words = lower_case(join(last_lines, "\n") + "\n" + error_message);
  if (names_another_rank(words)) {
    return FailureKind::Traceback;
  }
  if (has_pattern(words, "peer")) {
    return FailureKind::LostPeer;
  }
  const bool has_own_error = !error_message.empty() || has_pattern(words, "trace");
  return has_own_error ? FailureKind::Traceback : FailureKind::ExitCode;
}

}  // namespace

bool shows_own_error(const std::vector<std::string>& last_lines) {
  return trace_of_words(last_lines, "") == FailureKind::Traceback;
}

bool is_crash(const ExitStatus& status) {
  // A broken connection ends a process by SIGPIPE, and an uncaught C++ exception by SIGABRT.
  return status.signal() && status.signal() != SIGPIPE && status.signal() != SIGABRT;
}

FailureKind classify(const Failure& failure) {
  if (failure.is_hung || !failure.status || is_crash(*failure.status)) {
    return FailureKind::Crash;
  }
  const FailureKind words = trace_of_words(failure.last_lines, failure.error_message);
  if (failure.status->signal() == SIGPIPE || words == FailureKind::LostPeer) {
    return FailureKind::LostPeer;
  }
  return failure.status->signal() ? FailureKind::Crash : words;
}

std::string_view describe(FailureKind trace) {
  static constexpr std::array<std::string_view, 4> kWords{"a signal ended it", "its output shows an error of its own",
                                                          "its output does not mention a lost peer",
                                                          "it ended before the others as far as can be seen"};
  return kWords.at(static_cast<std::size_t>(trace));
}

namespace {

bool wrote_before(const Failure& one, const Failure& other) {
  return one.node == other.node && one.error_at && other.error_at && was_before(*one.error_at, *other.error_at);
}

}  // namespace

std::size_t most_likely_first(std::span<const Failure> suspects) {
  std::size_t first = 0;
  FailureKind best = FailureKind::LostPeer;
  for (std::size_t i = 0; i < suspects.size(); ++i) {
    const FailureKind trace = classify(suspects[i]);
    if (i == 0 || trace < best || (trace == best && wrote_before(suspects[i], suspects[first]))) {
      first = i;
      best = trace;
    }
  }
  return first;
}

Failure take_most_likely(std::vector<Failure>& suspects) {
  for (Failure& suspect : suspects) {
    suspect.knows_order = suspect.knows_order && suspects.size() == 1;
  }
  const auto first = suspects.begin() + static_cast<std::ptrdiff_t>(most_likely_first(suspects));
  Failure taken = std::move(*first);
  suspects.erase(first);
  const auto is_rival = [&](const Failure& other) { return classify(other) == classify(taken); };
  if (std::ranges::any_of(suspects, is_rival)) {
    taken.wrote_first = std::ranges::all_of(
        suspects, [&](const Failure& other) { return !is_rival(other) || wrote_before(taken, other); });
  }
  return taken;
}

void prefer_own_error(Failure& first, OtherFailures& others) {
  const auto reason = std::ranges::find_if(others.listed, [](const Failure& other) {
    return other.was_asked && !names_another_rank(lower_case(join(other.last_lines, "\n")));
  });
  if (reason == others.listed.end() || classify(first) != FailureKind::LostPeer) {
    return;
  }
  first.knows_order = false;
  reason->knows_order = false;
  if (reason->status && reason->status->signal()) {
    reason->exit_code = first.exit_code;
  }
  std::swap(first, *reason);
}

}  // namespace muster
