#pragma once

// Values of --preflight links: the rounds in which pairs of nodes measure their link, and the lines by which the
// leader asks for that and the nodes answer. Pure; docs/preflight.md describes the check.

#include "base/ranks.hpp"
#include "supervise/job_end.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::gang {

/// `StatusQuery::number` of the leader's questions about links; agents use other numbers. A node that does not
/// measure answers with an empty text, and so does an older version.
inline constexpr int kLinksNumber = std::numeric_limits<int>::max() - 1;

/// Length of a round, and the pause before the first one, in which partners connect to each other. A round is longer
/// than its transfer, because some nodes begin late.
inline constexpr std::chrono::milliseconds kLinkRoundTime{400};
/// Enough for the pairs of 65,536 nodes.
inline constexpr std::size_t kMostLinkRounds = 16;

// --- Rounds -------------------------------------------------------------------------------------

/// Two nodes that measure the link between them. The first one connects.
struct LinkPair {
  std::size_t connects = 0;
  std::size_t listens = 0;
};
using LinkRounds = std::vector<std::vector<LinkPair>>;

/// Plans rounds for the nodes 0 to `nodes` - 1, as in a tournament. There are log2(`nodes`) rounds, and three at
/// least. In a round each node is in one pair, except that one rests if their number is odd; no pair meets twice.
LinkRounds make_link_rounds(std::size_t nodes);

// --- Questions and answers ------------------------------------------------------------------------
// Each message names its check, because an answer may come when the next check has begun. A parser returns an empty
// optional for a text that no agent has written.

/// The leader asks a node to listen.
struct LinkListen {
  int check = 0;
  std::string address;  ///< of the node, numeric
};

/// The answer of a node that listens: the port, and the key that its partners have to send.
struct LinkPort {
  int check = 0;
  std::uint16_t port = 0;
  std::string key;  ///< letters and digits, 32 at most
};

/// The answer of a node that cannot do what it was asked, or whose user does not want it.
struct LinkRefusal {
  int check = 0;
};

/// The task of a node in one round.
struct LinkStep {
  enum class Kind {
    Rest,
    Listen,
    Connect
  };
  Kind kind = Kind::Rest;
  std::string address{};  ///< the partner's, to which this node connects
  std::uint16_t port = 0;
  std::string key{};
};

/// The leader asks a node to measure: one step for each round.
struct LinkPlan {
  int check = 0;
  std::vector<LinkStep> steps;
};

inline constexpr int kMostLinkLatency = 10'000'000;  // microseconds
inline constexpr int kMostLinkLoss = 1'000'000;      // of a million packets

/// The link of a pair, as one of the two nodes has measured it. Numbers are not negative.
struct LinkResult {
  int latency = 0;     ///< the shortest round trip in microseconds; 0: not known
  int throughput = 0;  ///< received, in kbit/s
  int loss = 0;        ///< packets that this node sent again, of a million
  /// True: this node was in time, but its partner did not answer. Then there are no numbers.
  bool is_silent = false;
};

/// A node's results by round; empty for a round of which it can tell nothing, as it or its partner was late.
struct LinkResults {
  int check = 0;
  std::vector<std::optional<LinkResult>> rounds;
};

std::string to_text(const LinkListen& question);
std::optional<LinkListen> parse_link_listen(std::string_view text);
std::string to_text(const LinkPort& answer);
std::optional<LinkPort> parse_link_port(std::string_view text);
std::string to_text(const LinkRefusal& answer);
std::optional<LinkRefusal> parse_link_refusal(std::string_view text);
std::string to_text(const LinkPlan& question);
std::optional<LinkPlan> parse_link_plan(std::string_view text);
std::string to_text(const LinkResults& answer);
std::optional<LinkResults> parse_link_results(std::string_view text);

// --- Judgement ------------------------------------------------------------------------------------

/// Results as a node has told them. Rounds name this node by its index in the list.
struct NodeLinkResults {
  NodeRank node;
  std::string host;
  std::optional<LinkResults> results;  ///< empty: it has not told them, and no pair with it counts
  std::string kind = {};               ///< kind of machine: a node of another kind than most is never named
  std::string address = {};            ///< agents with equal addresses share a host, and do not measure their link
};

struct LinkVerdict {
  std::vector<Outlier> outliers{};  ///< nodes whose links are bad, by their ranks
  /// Nodes that may be outliers: all their links were bad, but the links between them are not measured yet.
  std::vector<NodeRank> doubtful{};
  std::vector<NodeRank> unknown{};  ///< nodes of which too few links were measured
  std::string mixed{};  ///< "link throughput 0.90 Gb/s on 28 links and 24.00 Gb/s on 36": no single node is the reason
};

/// Finds the nodes whose links are bad in all of their rounds. Pure; runs on the leader.
using JudgeLinks = std::function<LinkVerdict(const std::vector<NodeLinkResults>&, const LinkRounds&)>;

}  // namespace muster::gang
