// Tells each node its partner in each round, and waits for what they measure.
#include "gang/protocol/preflight_links.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace muster::gang {
namespace {

/// The indices of all items of a list.
template <typename Item>
std::vector<std::size_t> places_of(const std::vector<Item>& items) {
  std::vector<std::size_t> places(items.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  return places;
}

}  // namespace

bool PreflightLinks::take(LinkId link, const StatusReport& report, Instant now) {
  if (report.number != kLinksNumber) {
    return false;
  }
  Node* const node = find(link);
  if (node == nullptr || !node->is_awaited) {
    return true;
  }
  auto port = parse_link_port(report.text);
  auto results = parse_link_results(report.text);
  const auto refusal = parse_link_refusal(report.text);
  if (phase_ == Phase::Listening && port && port->check == check_) {
    node->port = std::move(port);
    node->is_awaited = false;
  } else if (phase_ == Phase::Measuring && results && results->check == check_) {
    node->is_awaited = false;
    if (now <= too_late_) {
      add_results(*node, *std::move(results));
    }
  } else if (refusal ? refusal->check == check_ : !port && !results) {  // otherwise an older muster answered
    node->is_awaited = false;
  }
  return true;
}

/// Appends the node's new results to its results of earlier rounds.
void PreflightLinks::add_results(Node& node, LinkResults results) const {
  if (!node.results) {
    node.results = LinkResults{check_, {}};
  }
  auto& rounds = node.results->rounds;
  rounds.resize(first_round_);
  std::ranges::move(results.rounds, std::back_inserter(rounds));
}

void PreflightLinks::forget(LinkId link) {
  if (Node* const node = find(link)) {
    node->is_awaited = false;
    node->port.reset();
    node->results.reset();
  }
  checked_.erase(link);
  outliers_.erase(link);
}

void PreflightLinks::on_tick(Instant now) {
  if (limit_ && now >= *limit_) {
    limit_.reset();
  }
}

bool PreflightLinks::holds_back(Instant now) {
  const std::vector<LinkId> nodes = gang_.roster.in_order();
  if (!gang_.config.judge_links || nodes.size() < kFewestCompared) {
    return false;
  }
  if (phase_ == Phase::Listening && !awaits_answers(now)) {
    ask_to_measure(now);
  }
  if (phase_ == Phase::Measuring && !awaits_answers(now)) {
    judge(now);
  }
  const bool is_first = attempt_ != gang_.attempt.number();
  checks_ = is_first ? 0 : checks_;
  if (is_first || (phase_ == Phase::Done && !has_checked(nodes) && checks_ < kMostChecks)) {
    begin(nodes, now);
  }
  return phase_ != Phase::Done;
}

std::optional<std::vector<Outlier>> PreflightLinks::take_findings() {
  return std::exchange(has_findings_, false) ? std::optional(outliers(gang_.roster.in_order())) : std::nullopt;
}

std::vector<Outlier> PreflightLinks::outliers(const std::vector<LinkId>& nodes) const {
  std::vector<Outlier> found;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (const auto outlier = outliers_.find(nodes[i]); outlier != outliers_.end()) {
      found.push_back(outlier->second);
      found.back().node = NodeRank{static_cast<int>(i)};
    }
  }
  return found;
}

PreflightLinks::Node* PreflightLinks::find(LinkId link) {
  const auto found = std::ranges::find(nodes_, link, &Node::link);
  return found == nodes_.end() ? nullptr : &*found;
}

/// True if all of these nodes were checked: none has come since the check.
bool PreflightLinks::has_checked(const std::vector<LinkId>& nodes) const {
  return std::ranges::all_of(nodes, [this](LinkId link) { return checked_.contains(link); });
}

bool PreflightLinks::awaits_answers(Instant now) const {
  return limit_ && now < *limit_ && std::ranges::any_of(nodes_, &Node::is_awaited);
}

void PreflightLinks::begin(const std::vector<LinkId>& nodes, Instant now) {
  attempt_ = gang_.attempt.number();
  ++checks_;
  has_findings_ = false;
  nodes_.clear();
  rounds_.clear();
  outliers_.clear();
  checked_ = {nodes.begin(), nodes.end()};
  for (ExchangeNode& node : gang_.exchange_nodes(nodes)) {  // the addresses at which workers meet
    nodes_.push_back({node.link, std::move(node.address)});
  }
  const auto is_beside_first = [this](const Node& node) { return node.address == nodes_[0].address; };
  if (std::ranges::all_of(nodes_, is_beside_first)) {
    phase_ = Phase::Done;
    tell_once(Level::Info, "all nodes are on one host: --preflight links has no link to measure");
    return;
  }
  ask_to_listen(places_of(nodes_), now);
}

void PreflightLinks::ask_to_listen(std::vector<std::size_t> asked, Instant now) {
  phase_ = Phase::Listening;
  limit_ = now + kTimeToListen;
  ++check_;
  first_round_ = rounds_.size();
  asked_ = std::move(asked);
  for (const std::size_t at : asked_) {
    Node& node = nodes_[at];
    node.port.reset();
    node.is_awaited = true;
    gang_.send(node.link, StatusQuery{kLinksNumber, to_text(LinkListen{check_, node.address})});
  }
}

/// Asks the nodes that listen to measure. The others start without the check.
void PreflightLinks::ask_to_measure(Instant now) {
  for (const std::size_t at : asked_) {
    nodes_[at].is_awaited = false;
    if (!nodes_[at].port) {
      warn_of(nodes_[at].link, "cannot measure its links");
    }
  }
  if (rounds_.empty()) {
    std::erase_if(nodes_, [](const Node& node) { return !node.port; });
    asked_ = places_of(nodes_);
  } else {
    std::erase_if(asked_, [this](std::size_t at) { return !nodes_[at].port; });
  }
  phase_ = Phase::Measuring;
  const bool are_enough = nodes_.size() >= kFewestCompared && asked_.size() >= 2;
  add_rounds(are_enough ? make_link_rounds(asked_.size()) : LinkRounds());
  const auto time = static_cast<int>(rounds_.size() - first_round_) * kLinkRoundTime;
  const Instant last_end = now + kLinkRoundTime + time;
  too_late_ = last_end + time;  // a node that tells later began so late that its partners had closed their ports
  limit_ = last_end + kTimeToTell;
  const std::vector<LinkPlan> plans = make_plans();
  for (const std::size_t at : are_enough ? asked_ : std::vector<std::size_t>()) {
    nodes_[at].is_awaited = true;
    gang_.send(nodes_[at].link, StatusQuery{kLinksNumber, to_text(plans[at])});
  }
}

/// Adds rounds. Their pairs are indices in `asked_`, and become indices in `nodes_`.
void PreflightLinks::add_rounds(LinkRounds added) {
  const auto is_inside_a_host = [this](const LinkPair& pair) {  // it says nothing of the network
    return nodes_[pair.connects].address == nodes_[pair.listens].address;
  };
  for (std::vector<LinkPair>& pairs : added) {
    for (LinkPair& pair : pairs) {
      pair = {asked_[pair.connects], asked_[pair.listens]};
    }
    std::erase_if(pairs, is_inside_a_host);
    rounds_.push_back(std::move(pairs));
  }
}

/// The plans of all nodes for the rounds that are still to come.
std::vector<LinkPlan> PreflightLinks::make_plans() const {
  std::vector<LinkPlan> plans(nodes_.size(), LinkPlan{check_, std::vector<LinkStep>(rounds_.size() - first_round_)});
  for (std::size_t round = first_round_; round < rounds_.size(); ++round) {
    for (const auto& [connects, listens] : rounds_[round]) {
      const Node& partner = nodes_[listens];
      plans[connects].steps[round - first_round_] = {LinkStep::Kind::Connect, partner.address, partner.port->port,
                                                     partner.port->key};
      plans[listens].steps[round - first_round_].kind = LinkStep::Kind::Listen;
    }
  }
  return plans;
}

/// Judges the links. Nodes that have only bad links may be one rack: first, they measure the links between them.
void PreflightLinks::judge(Instant now) {
  std::vector<NodeLinkResults> told;
  for (const Node& node : nodes_) {
    const Member* const member = gang_.roster.find(node.link);
    const NodeFacts facts = member == nullptr ? NodeFacts() : member->join.node;
    told.push_back({NodeRank{static_cast<int>(told.size())}, facts.host, node.results,
                    std::to_string(facts.devices.size()) + " " + facts.role_name, node.address});
  }
  const LinkVerdict verdict = gang_.config.judge_links(told, rounds_);
  if (!verdict.doubtful.empty() && first_round_ == 0) {
    std::vector<std::size_t> suspects;
    for (const NodeRank node : verdict.doubtful) {
      suspects.push_back(static_cast<std::size_t>(node.value));
    }
    for (const Outlier& outlier : verdict.outliers) {
      suspects.push_back(static_cast<std::size_t>(outlier.node.value));
    }
    ask_to_listen(std::move(suspects), now);
    return;
  }
  conclude(verdict);
}

void PreflightLinks::conclude(const LinkVerdict& verdict) {
  phase_ = Phase::Done;
  has_findings_ = true;
  limit_.reset();
  name_unmeasured(verdict);
  for (const Outlier& outlier : verdict.outliers) {
    const LinkId link = nodes_.at(static_cast<std::size_t>(outlier.node.value)).link;
    if (checked_.contains(link)) {
      outliers_[link] = outlier;
    }
  }
  if (!verdict.mixed.empty()) {
    tell_once(Level::Info, "the links between the nodes are of several kinds: " + verdict.mixed);
  }
  gang_.say(Level::Debug, "compared the links of " + count_of(nodes_.size(), "node") + " in " +
                              count_of(rounds_.size(), "round") + ": " + std::to_string(outliers_.size()) + " differ");
  nodes_.clear();
}

void PreflightLinks::name_unmeasured(const LinkVerdict& verdict) {
  bool has_measured = std::ranges::all_of(rounds_, [](const auto& pairs) { return pairs.empty(); });
  const auto is_measured = [](const std::optional<LinkResult>& result) { return result && !result->is_silent; };
  for (const Node& node : nodes_) {
    has_measured = has_measured || (node.results && std::ranges::any_of(node.results->rounds, is_measured));
    if (!node.results && !rounds_.empty()) {
      warn_of(node.link, "has not reported its links");
    }
  }
  if (!has_measured) {
    gang_.say(Level::Warning,
              "no node has reached another one to measure the link between them: a firewall may close the ports from "
              "5000 to 10000");
    return;
  }
  for (const std::vector<NodeRank>& nodes : {verdict.doubtful, verdict.unknown}) {
    for (const NodeRank node : nodes) {
      warn_of(nodes_.at(static_cast<std::size_t>(node.value)).link, "was measured in too few rounds");
    }
  }
}

void PreflightLinks::tell_once(Level level, const std::string& text) {
  if (said_.insert(text).second) {
    gang_.say(level, text);
  }
}

/// Logs a warning about a node, unless it has left.
void PreflightLinks::warn_of(LinkId link, const std::string& what) {
  const Member* const member = gang_.roster.find(link);
  const std::string text =
      member == nullptr || !member->seat ? "" : describe_seat(*member) + " " + what + ": it starts without that check";
  if (!text.empty() && said_.size() < kMostWarnings && said_.insert(text).second) {
    gang_.say(Level::Warning, text);
  }
}

}  // namespace muster::gang
