#pragma once

// Values of --preflight links: which nodes measure the link between them in which round, and the lines by which the leader
// asks for that and the nodes answer. Pure; docs/preflight.md describes the check.

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

/// `StatusQuery::number` of these questions, as no agent can ask. A node that does not measure answers with an empty text;
/// an older version does so, too.
inline constexpr int kLinksNumber = std::numeric_limits<int>::max() - 1;

/// The length of a round. The first round begins this long after the agent gets the question: before it, partners connect to
/// each other. A round is longer than its transfer, because some nodes begin late.
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

/// Pairs of the nodes 0 to `nodes` - 1, two at least, as in a tournament: log2 of their number in rounds, three at least. A
/// node is in one pair of a round, or rests where the number is odd; no pair meets twice.
LinkRounds make_link_rounds(std::size_t nodes);

// --- Questions and answers ------------------------------------------------------------------------
// Each names the check that it belongs to: an answer may come when the next check has begun. A parser returns an empty
// optional for a text that no agent has written.

/// The leader asks a node to listen.
struct LinkListen {
  int check = 0;
  std::string address;  ///< of the node, numeric
};

/// The node listens there for whoever sends this key.
struct LinkPort {
  int check = 0;
  std::uint16_t port = 0;
  std::string key;  ///< letters and digits, 32 at most
};

/// The node cannot do what it was asked, or its user does not want it.
struct LinkRefusal {
  int check = 0;
};

/// Part of a node in a round.
struct LinkStep {
  enum class Kind {
    Rest,
    Listen,
    Connect
  };
  Kind kind = Kind::Rest;
  std::string address{};  ///< to connect to
  std::uint16_t port = 0;
  std::string key{};
};

/// The leader asks a node to measure, a step in each round.
struct LinkPlan {
  int check = 0;
  std::vector<LinkStep> steps;
};

inline constexpr int kMostLinkLatency = 10'000'000;  // microseconds
inline constexpr int kMostLinkLoss = 1'000'000;      // of a million packets

/// The link of a pair as one of both nodes has measured it. Numbers are not negative.
struct LinkResult {
  int latency = 0;     ///< the shortest round trip in microseconds; 0: not known
  int throughput = 0;  ///< received, in kbit/s
  int loss = 0;        ///< packets that this node sent again, of a million
  /// True: there are no numbers, because the partner has not answered this node, which was in time.
  bool is_silent = false;
};

/// The node's results; empty in rounds of which it can tell nothing, as it was late or its partner was.
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

/// Results of a node, as it told them; a number of the rounds names it by its place.
struct ToldLinks {
  NodeRank node;
  std::string host;
  std::optional<LinkResults> results;  ///< empty: it has not told them, and no pair with it counts
  std::string kind = {};               ///< of machine: a node of another kind than most is not named
  std::string address = {};            ///< agents of one address do not measure the link between them
};

struct LinkVerdict {
  std::vector<Outlier> outliers{};  ///< nodes whose links are bad, by their ranks
  /// Perhaps outliers: all their links are bad, but those between them were not measured.
  std::vector<NodeRank> doubtful{};
  std::vector<NodeRank> unknown{};  ///< nodes of which too few links were measured
  std::string mixed{};  ///< "link throughput 0.90 Gb/s on 28 links and 24.00 Gb/s on 36": no single node is the reason
};

/// Finds the nodes whose links are bad in all of their rounds. Pure; runs on the leader.
using JudgeLinks = std::function<LinkVerdict(const std::vector<ToldLinks>&, const LinkRounds&)>;

}  // namespace muster::gang
