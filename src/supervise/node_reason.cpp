// Looks for the words of a broken device in what a failed process wrote last.
#include "supervise/node_reason.hpp"

#include "base/secrets.hpp"
#include "base/text.hpp"
#include "supervise/end_hints.hpp"
#include "supervise/first_failure.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <limits>
#include <utility>
#include <vector>

namespace muster {
namespace {

/// "nvrm: xid (pci:0000:3b:00): 79, pid=4711" becomes "nvrm: xid 79, pid=4711".
std::string without_address_of_xid(std::string words) {
  const std::size_t begin = words.find("xid (");
  const std::size_t end = words.find("): ", begin);
  if (begin != std::string::npos && end != std::string::npos) {
    words.replace(begin, end + 3 - begin, "xid ");
  }
  return words;
}

std::optional<int> named_rank(const std::string& words) {
  constexpr std::string_view kRank = " rank=";
  const std::size_t begin = words.find(kRank);
  if (begin == std::string::npos) {
    return std::nullopt;
  }
  const std::string rest = words.substr(begin + kRank.size());
  return parse_integer(rest.substr(0, rest.find_first_not_of("0123456789")), 0, std::numeric_limits<int>::max());
}

std::optional<NodeReason> reason_in(const std::string& line) {
  constexpr std::size_t kMostBytes = 200;
  const std::string words = without_address_of_xid(lower_case(line));
  if (!has_pattern(words, "node")) {
    return std::nullopt;
  }
  NodeReason reason{masked_line(trim(line), kMostBytes)};      // others read the file that it goes to
  if (words.find("sdcreplaymismatch") != std::string::npos) {  // raised on every rank
    reason.rank = named_rank(words);
    return reason.rank ? std::optional(reason) : std::nullopt;
  }
  return reason;
}

bool was_out_of_memory(const Failure& failure) {
  const std::string words =
      lower_case(join(failure.last_lines, "\n") + failure.error_message + join(failure.hints, "\n"));
  return words.find("out of memory") != std::string::npos || words.find("because memory ran out") != std::string::npos;
}

}  // namespace

std::optional<NodeReason> find_node_reason(const Failure& failure) {
  constexpr std::array kOfCrashes = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
  const auto signal = failure.status ? failure.status->signal() : std::nullopt;
  if (signal && !contains(kOfCrashes, *signal)) {
    return std::nullopt;  // somebody has sent it
  }
  const bool has_ended_by_itself = failure.status && failure.service.empty() && !failure.is_early_exit &&
                                   !failure.is_hung && !failure.is_unkillable && !failure.was_passed_on;
  if (!has_ended_by_itself || was_out_of_memory(failure) || classify(failure) == FailureKind::LostPeer) {
    return std::nullopt;
  }
  std::vector<std::string> lines = split(failure.error_message, '\n');
  lines.insert(lines.end(), failure.last_lines.begin(), failure.last_lines.end());
  for (const std::string& line : lines) {
    if (auto reason = reason_in(line)) {
      return reason;
    }
  }
  return std::nullopt;
}

}  // namespace muster
