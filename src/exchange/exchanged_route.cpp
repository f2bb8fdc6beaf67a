// Votes about the route plan, and the decision that all nodes get: see the header.
#include "base/json.hpp"
#include "base/rank_words.hpp"
#include "exchange/exchanged_route.hpp"

#include <vector>

namespace muster {
namespace {

using rank_table::RouteDecision;
using rank_table::RouteVote;

constexpr std::size_t kMostDecisionBytes = std::size_t{1} << 20U;

std::string encode(const RouteDecision& decision) {
  return json::serialize(json::object{
      {"applies", decision.applies},
      {"reason", decision.reason},
      {"positions", json::array(decision.positions.begin(), decision.positions.end())}});
}

Result<std::string> decide(const std::vector<gang::NodePart>& parts) {
  std::vector<RouteVote> votes;
  for (const gang::NodePart& part : parts) {
    auto vote =
        part.bytes.empty() ? Result<RouteVote>(RouteVote()) : rank_table::decode_vote(part.bytes);
    if (!vote) {
      return Error{ErrorKind::System, "of node " + to_string(part.node) + " is torn"};
    }
    votes.push_back(std::move(*vote));
  }
  return encode(rank_table::decide_route(votes));
}

}  // namespace

gang::ExchangeKey route_key() {
  return {"route_plan",
          gang::Phase::BeforeStart,
          rank_table::kMostVoteBytes,
          kMostDecisionBytes,
          decide};
}

Result<RouteDecision> read_route_decision(std::string_view merged) {
  try {
    const json::object document = json::parse({merged.data(), merged.size()}).as_object();
    return RouteDecision{document.at("applies").as_bool(),
                         json::value_to<std::string>(document.at("reason")),
                         json::value_to<std::vector<int>>(document.at("positions"))};
  } catch (const std::exception&) {  // Boost.JSON's way to say it
    return Error{ErrorKind::BadData, "the decision about the route plan is torn"};
  }
}

}  // namespace muster
