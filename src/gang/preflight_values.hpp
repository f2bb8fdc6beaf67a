#pragma once

// Values of the preflight: what the nodes have told about themselves, and which of them differ. docs/preflight.md
// describes it.

#include "base/ranks.hpp"
#include "supervise/job_end.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::gang {

/// `StatusQuery::what` of the leader's question for a node's facts. A node that does not tell its facts answers with
/// an empty text, and so does an older version.
inline constexpr const char* kFactsQuestion = "facts";

/// Fewest nodes that are compared: if two nodes differ, nobody knows which one is wrong.
inline constexpr std::size_t kFewestCompared = 3;

/// The median of `values`, which is not empty; of two in the middle the upper one.
template <typename Value>
Value median_of(std::vector<Value> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Facts as a node has told them. Times are seconds of the leader's steady clock.
struct ToldFacts {
  NodeRank node;
  std::string host;
  std::string role;     ///< nodes are compared within their role
  std::string text;     ///< the facts as the node has sent them
  double asked = 0;     ///< the node reads its own clock later than this
  double answered = 0;  ///< the node read its own clock before this
};

struct PreflightVerdict {
  std::vector<Outlier> outliers;  ///< by their ranks
  /// Nodes whose differences may make a job fail; their `facts` has only these differences.
  std::vector<Outlier> unfit;
  std::string mixed;  ///< "kernel 5.15 on 40 nodes and 6.1 on 24": large groups differ; empty: none do
};

/// `StatusQuery::number` of the leader's question to run the command of --preflight-command; agents use other
/// numbers. The node answers when the command has ended: with `kCommandPassed`, with one line about what is wrong, or
/// with an empty text if it has no command. An older version answers with an empty text, too.
inline constexpr int kCommandNumber = std::numeric_limits<int>::max();
inline constexpr const char* kCommandPassed = "passed";

/// The `StatusQuery::what` that goes with `kCommandNumber`.
struct CommandQuestion {
  int node = 0;  ///< rank of the node that is asked, as far as it is known before the attempt
  int nodes = 1;
  int attempt = 0;
  std::chrono::milliseconds limit{};  ///< of the command's time
};

std::string to_text(const CommandQuestion& question);
/// Reads a question; empty: no leader has written this text.
std::optional<CommandQuestion> parse_command_question(std::string_view text);

/// A node that failed by itself in an earlier job: a line of the file of --bad-nodes.
struct BadNode {
  std::string machine;  ///< its name
  std::string until;    ///< "2026-12-06T07:50:41Z"; empty: it has no end
  std::string reason;
};

/// Compares the nodes of an attempt. Pure; runs on the leader.
using JudgeFacts = std::function<PreflightVerdict(const std::vector<ToldFacts>&)>;

}  // namespace muster::gang
