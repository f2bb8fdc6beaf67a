// Tells each node its partner in each round, and waits for what they measure.
#include "gang/protocol/preflight_links.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace muster::gang {

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
  if (phase_ == Phase::Listening && port && port->check == check_) {
    node->port = std::move(port);
    node->is_awaited = false;
  } else if (phase_ == Phase::Measuring && results && results->check == check_) {
    node->results = now <= last_end_ + kMostLate ? std::move(results) : std::nullopt;
    node->is_awaited = false;
  } else if (!port && !results) {  // it cannot measure, or is an older muster
    node->is_awaited = false;
  }
  return true;
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
  if (due_ && now >= *due_) {
    due_.reset();
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
    conclude();
  }
  const bool is_first = attempt_ != gang_.attempt.number();
  first_check_ = is_first ? check_ : first_check_;
  if (is_first || (phase_ == Phase::Done && !has_checked(nodes) && check_ < first_check_ + kMostChecks)) {
    ask_to_listen(nodes, now);
  }
  due_ = phase_ == Phase::Done ? std::nullopt : limit_;
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

std::optional<std::pair<LinkId, Outlier>> PreflightLinks::first_outlier() const {
  const std::vector<LinkId> nodes = outliers_.empty() ? std::vector<LinkId>() : gang_.roster.in_order();
  const std::vector<Outlier> found = outliers(nodes);
  return found.empty() ? std::nullopt
                       : std::optional(std::pair(nodes[static_cast<std::size_t>(found[0].node.value)], found[0]));
}

PreflightLinks::Node* PreflightLinks::find(LinkId link) {
  const auto found = std::ranges::find(nodes_, link, &Node::link);
  return found == nodes_.end() ? nullptr : &*found;
}

/// False where a node has come since then.
bool PreflightLinks::has_checked(const std::vector<LinkId>& nodes) const {
  return std::ranges::all_of(nodes, [this](LinkId link) { return checked_.contains(link); });
}

bool PreflightLinks::awaits_answers(Instant now) const {
  return now < *limit_ && std::ranges::any_of(nodes_, &Node::is_awaited);
}

void PreflightLinks::ask_to_listen(const std::vector<LinkId>& nodes, Instant now) {
  attempt_ = gang_.attempt.number();
  phase_ = Phase::Listening;
  limit_ = now + kTimeToListen;
  ++check_;
  has_findings_ = false;
  nodes_.clear();
  outliers_.clear();
  checked_ = {nodes.begin(), nodes.end()};
  for (ExchangeNode& node : gang_.exchange_nodes(nodes)) {  // the addresses by which workers meet
    gang_.send(node.link, StatusQuery{kLinksNumber, to_text(LinkListen{check_, node.address})});
    nodes_.push_back({node.link, std::move(node.address)});
  }
}

/// Those that do not listen start without the check.
void PreflightLinks::ask_to_measure(Instant now) {
  for (const Node& node : nodes_) {
    if (!node.port) {
      warn_of(node.link, "cannot measure its links");
    }
  }
  std::erase_if(nodes_, [](const Node& node) { return !node.port; });
  rounds_ = nodes_.size() < kFewestCompared ? LinkRounds() : make_link_rounds(nodes_.size());
  for (std::vector<LinkPair>& pairs : rounds_) {  // a link inside a host says nothing of the network
    std::erase_if(
        pairs, [this](const LinkPair& pair) { return nodes_[pair.connects].address == nodes_[pair.listens].address; });
  }
  phase_ = Phase::Measuring;
  last_end_ = now + static_cast<int>(rounds_.size()) * kLinkRoundTime;
  limit_ = last_end_ + kTimeToTell;
  const std::vector<LinkPlan> plans = make_plans();
  for (std::size_t i = 0; i < nodes_.size() && !rounds_.empty(); ++i) {
    nodes_[i].is_awaited = true;
    gang_.send(nodes_[i].link, StatusQuery{kLinksNumber, to_text(plans[i])});
  }
}

std::vector<LinkPlan> PreflightLinks::make_plans() const {
  std::vector<LinkPlan> plans(nodes_.size(), LinkPlan{check_, std::vector<LinkStep>(rounds_.size())});
  for (std::size_t round = 0; round < rounds_.size(); ++round) {
    for (const auto& [connects, listens] : rounds_[round]) {
      const Node& partner = nodes_[listens];
      plans[connects].steps[round] = {LinkStep::Kind::Connect, partner.address, partner.port->port, partner.port->key};
      plans[listens].steps[round].kind = LinkStep::Kind::Listen;
    }
  }
  return plans;
}

void PreflightLinks::conclude() {
  phase_ = Phase::Done;
  has_findings_ = true;
  std::vector<ToldLinks> told;
  bool has_measured = std::ranges::all_of(rounds_, [](const auto& pairs) { return pairs.empty(); });
  const auto is_measured = [](const std::optional<LinkResult>& result) { return result.has_value(); };
  for (const Node& node : nodes_) {
    const Member* const member = gang_.roster.find(node.link);
    const NodeFacts facts = member == nullptr ? NodeFacts() : member->join.node;
    told.push_back({NodeRank{static_cast<int>(told.size())}, facts.host, node.results,
                    std::to_string(facts.devices.size()) + " " + facts.role_name});
    has_measured = has_measured || (node.results && std::ranges::any_of(node.results->rounds, is_measured));
    if (!node.results && !rounds_.empty()) {
      warn_of(node.link, "has not told how its links are");
    }
  }
  if (!has_measured) {
    gang_.say(Level::Warning,
              "no node has reached another one to measure the link between them: a firewall may close the ports from "
              "5000 to 10000");
  }
  for (Outlier& outlier : gang_.config.judge_links(told, rounds_)) {
    const LinkId link = nodes_.at(static_cast<std::size_t>(outlier.node.value)).link;
    if (checked_.contains(link)) {
      outliers_[link] = std::move(outlier);
    }
  }
  gang_.say(Level::Debug, "compared the links of " + count_of(nodes_.size(), "node") + " in " +
                              count_of(rounds_.size(), "round") + ": " + std::to_string(outliers_.size()) + " differ");
  nodes_.clear();
}

/// Not for a node that has left.
void PreflightLinks::warn_of(LinkId link, const std::string& what) {
  const Member* const member = gang_.roster.find(link);
  const std::string text =
      member == nullptr || !member->seat ? "" : describe_seat(*member) + " " + what + ": it starts without that check";
  if (!text.empty() && said_.size() < kMostWarnings && said_.insert(text).second) {
    gang_.say(Level::Warning, text);
  }
}

}  // namespace muster::gang
