// Collects the facts of the nodes, and says each difference once.
#include "gang/protocol/preflight.hpp"

#include "base/lists.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace muster::gang {
namespace {

/// Number of the question for facts. StatusQuestions counts its own from 1.
constexpr int kFactsNumber = 0;
/// Limit of the facts of a node, more than any has. A longer text does not count as an answer, and is not kept.
constexpr std::size_t kMostToldBytes = 4'096;

constexpr const char* kDiffers = "differs from the others";

double since_epoch(Instant at) {
  return std::chrono::duration<double>(at.time_since_epoch()).count();
}

}  // namespace

Preflight::Preflight(GangState& gang)
    : gang_(gang),
      is_strict_(gang.config.judge_facts && gang.config.options.preflight.compares == ComparesNodes::Strictly),
      command_(gang),
      links_(gang) {}

void Preflight::note_joined(LinkId link, Instant now) {
  if (is_strict_) {
    begin_attempt();
    ask({link}, now);
  }
}

/// Asks for facts again, which may have changed since the last attempt; not a node that has not answered yet.
void Preflight::begin_attempt() {
  if (attempt_ != gang_.attempt.number()) {
    attempt_ = gang_.attempt.number();
    std::erase_if(answers_, [](const auto& entry) { return entry.second.at.has_value(); });
    passed_.clear();
    unfit_.clear();
  }
}

void Preflight::ask(const std::vector<LinkId>& links, Instant now) {
  std::vector<LinkId> asked;
  for (const LinkId link : links) {
    if (gang_.roster.find(link) != nullptr && answers_.emplace(link, Answer{now, std::nullopt}).second) {
      asked.push_back(link);
    }
  }
  awaited_ += asked.size();
  gang_.send(std::move(asked), StatusQuery{kFactsNumber, kFactsQuestion});
}

bool Preflight::take(LinkId link, const StatusReport& report, Instant now) {
  if (report.number != kFactsNumber) {
    return links_.take(link, report, now) || command_.take(link, report, now);
  }
  const auto found = answers_.find(link);
  if (found != answers_.end() && !found->second.at) {
    found->second.at = now;
    found->second.text = report.text.size() > kMostToldBytes ? std::string() : report.text;
    --awaited_;
  }
  return true;
}

void Preflight::forget(LinkId link) {
  const auto found = answers_.find(link);
  if (found != answers_.end()) {
    awaited_ -= found->second.at ? 0 : 1;
    answers_.erase(found);
  }
  differences_.erase(link);
  forget_unfit(unfit_, link);
  command_.forget(link);
  links_.forget(link);
}

void Preflight::follow(Instant now) {
  if (gang_.state == LeaderState::Stopping) {
    command_.note_ending();
  }
  if (!gang_.config.judge_facts || is_strict_) {
    return;
  }
  if (gang_.state != LeaderState::Running) {
    asks_at_.reset();
    due_.reset();
    return;
  }
  if (attempt_ != gang_.attempt.number()) {
    begin_attempt();
    is_open_ = gang_.attempt.nodes().size() >= kFewestCompared;
    asks_at_ = is_open_ ? std::optional(now + kPause) : std::nullopt;
  }
  if (is_open_ && !asks_at_ && awaited_ == 0) {
    is_open_ = false;
    due_ = now;
  }
}

void Preflight::on_tick(Instant now) {
  command_.on_tick(now);
  links_.on_tick(now);
  if (asks_at_ && now >= *asks_at_) {
    asks_at_.reset();
    due_ = now + kMostWait;
    ask(gang_.attempt.nodes(), now);
  }
  if (!due_ || now < *due_) {
    return;
  }
  due_.reset();
  if (gang_.state == LeaderState::Running && !is_strict_) {
    (void)judge(gang_.attempt.nodes());
    if (!is_open_) {
      answers_.clear();  // takes much memory for thousands of nodes
    }
  }
}

std::optional<Instant> Preflight::next_wake() const {
  const auto call = spare_calls_.find(gang_.attempt.number());
  const bool has_call = gang_.state == LeaderState::Rendezvous && !unfit().empty() && call != spare_calls_.end();
  std::optional<Instant> wake = has_call ? std::optional(call->second) : std::nullopt;
  for (const std::optional<Instant>& at : {due_, asks_at_, command_.next_wake(), links_.next_wake()}) {
    wake = wake && at ? std::min(wake, at) : wake ? wake : at;
  }
  return wake;
}

/// Finds the nodes that failed in an earlier job, which --preflight strict leaves out.
std::vector<UnfitNode> Preflight::find_listed() const {
  const bool is_asked =
      gang_.config.options.preflight.compares == ComparesNodes::Strictly && gang_.node_failures.has_listed();
  std::vector<UnfitNode> found;
  for (const LinkId link : is_asked ? gang_.roster.in_order() : std::vector<LinkId>()) {
    const Member& member = *gang_.roster.find(link);
    if (std::string text = gang_.describe_listed(NodeRank{*member.seat}, name_of(member)); !text.empty()) {
      found.push_back({link, text, "failed in an earlier job", ""});
    }
  }
  return found;
}

bool Preflight::holds_back(Instant now) {
  if (auto listed = find_listed(); !listed.empty()) {
    unfit_ = std::move(listed);
    return true;
  }
  return comparison_holds_back(now) || command_.holds_back(now) || links_hold_back(now);
}

bool Preflight::comparison_holds_back(Instant now) {
  if (!is_strict_) {
    return false;
  }
  begin_attempt();
  const std::vector<LinkId> nodes = gang_.roster.in_order();
  if (passed_ == nodes || nodes.size() < kFewestCompared) {
    return false;
  }
  unfit_.clear();
  ask(gang_.roster.links(), now);
  due_ = end_of_delay(nodes);
  if (due_ && now < *due_) {
    return true;
  }
  due_.reset();
  name_silent(nodes);
  const PreflightVerdict verdict = judge(nodes);
  if (verdict.unfit.empty()) {
    passed_ = nodes;
    return false;
  }
  unfit_ = unfit_of(verdict.unfit, nodes);
  return true;
}

/// True while the start waits for the check of links, which follows the command: that may load the network. Only
/// --preflight strict makes a node with bad links unfit.
bool Preflight::links_hold_back(Instant now) {
  if (links_.holds_back(now)) {
    return true;
  }
  if (const auto found = links_.take_findings()) {
    if (!is_strict_) {
      by_facts_.clear();  // of the attempt before
    }
    const std::vector<LinkId> nodes = gang_.roster.in_order();
    record_outliers(nodes);
    tell(*found, nodes, false);
  }
  return is_strict_ && links_.has_outliers() && !links_.outliers(gang_.roster.in_order()).empty();
}

std::vector<UnfitNode> Preflight::unfit() const {
  if (!unfit_.empty() || !command_.unfit().empty() || !is_strict_ || !links_.has_outliers()) {
    return unfit_.empty() ? command_.unfit() : unfit_;
  }
  const std::vector<LinkId> nodes = gang_.roster.in_order();
  return unfit_of(links_.outliers(nodes), nodes);
}

std::vector<UnfitNode> Preflight::unfit_of(const std::vector<Outlier>& outliers,
                                           const std::vector<LinkId>& nodes) const {
  return mapped(outliers, [&](const Outlier& outlier) {
    const LinkId link = nodes.at(static_cast<std::size_t>(outlier.node.value));
    return UnfitNode{link, describe(outlier, nodes, false), kDiffers, outlier.facts};
  });
}

/// The end of the wait for answers: when all have answered or had their time; empty: all have answered.
std::optional<Instant> Preflight::end_of_delay(const std::vector<LinkId>& nodes) const {
  std::optional<Instant> end;
  for (const LinkId link : nodes) {
    const auto answer = answers_.find(link);
    if (answer != answers_.end() && !answer->second.at) {
      end = std::max(end.value_or(answer->second.asked), answer->second.asked + kMostDelay);
    }
  }
  return end;
}

bool Preflight::awaits_spare(Instant now) {
  const auto wait = gang_.config.options.last_call;
  const auto [call, is_new] = spare_calls_.emplace(gang_.attempt.number(), now + wait);
  if (is_new) {
    gang_.say(Level::Warning, "waiting up to " + whole_seconds(wait) + " for a spare in the place of a node that " +
                                  unfit().front().how);
  }
  return now < call->second;
}

std::vector<ToldFacts> Preflight::told_facts(const std::vector<LinkId>& nodes) const {
  std::vector<ToldFacts> told;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Member* const member = gang_.roster.find(nodes[i]);
    const auto answer = answers_.find(nodes[i]);
    if (member != nullptr && answer != answers_.end() && !answer->second.text.empty()) {
      told.push_back({NodeRank{static_cast<int>(i)}, member->join.node.host, member->join.node.role_name,
                      answer->second.text, since_epoch(answer->second.asked), since_epoch(*answer->second.at)});
    }
  }
  return told;
}

PreflightVerdict Preflight::judge(const std::vector<LinkId>& nodes) {
  const std::vector<ToldFacts> told = told_facts(nodes);
  PreflightVerdict verdict = gang_.config.judge_facts(told);
  gang_.say(Level::Debug, "compared the facts of " + count_of(told.size(), "node") + ": " +
                              std::to_string(verdict.outliers.size()) + " differ");
  by_facts_ = verdict.outliers;
  record_outliers(nodes);
  tell(verdict.outliers, nodes, !is_strict_);
  if (!verdict.mixed.empty() && said_.insert(verdict.mixed).second) {
    gang_.say(Level::Info, "the nodes are of several kinds: " + verdict.mixed);
  }
  return verdict;
}

/// Joins the differences of a node in its facts and in its links.
void Preflight::record_outliers(const std::vector<LinkId>& nodes) {
  std::map<NodeRank, Outlier> all;
  for (const std::vector<Outlier>& outliers : {by_facts_, links_.outliers(nodes)}) {
    for (const Outlier& outlier : outliers) {
      const auto [at, is_new] = all.emplace(outlier.node, outlier);
      at->second.facts += is_new ? "" : ", " + outlier.facts;
    }
  }
  differences_.clear();
  gang_.record.outliers.clear();
  for (auto& [node, outlier] : all) {
    differences_[nodes.at(static_cast<std::size_t>(node.value))] = outlier.facts;
    if (gang_.record.outliers.size() < kMostNamed) {
      gang_.record.outliers.push_back(std::move(outlier));
    }
  }
}

/// Describes how a node differs. Before the attempt begins, the node is named by its seat, as in other lines.
std::string Preflight::describe(const Outlier& outlier, const std::vector<LinkId>& nodes, bool has_begun) const {
  const LinkId link = nodes.at(static_cast<std::size_t>(outlier.node.value));
  return (has_begun ? describe_node(outlier.node, outlier.host) : describe_seat(*gang_.roster.find(link))) +
         " differs from " + count_of(static_cast<std::size_t>(outlier.others), "other") + ": " + outlier.facts;
}

void Preflight::tell(const std::vector<Outlier>& outliers, const std::vector<LinkId>& nodes, bool has_begun) {
  std::size_t named = 0;
  for (const Outlier& outlier : outliers) {
    std::string text = describe(outlier, nodes, has_begun);
    if (named < kMostNamed && said_.insert(text).second) {
      ++named;
      gang_.send(gang_.roster.links(), Announce{std::move(text)});
    }
  }
  if (outliers.size() > kMostNamed && named > 0) {
    gang_.send(gang_.roster.links(), Announce{count_of(outliers.size() - kMostNamed, "more node") +
                                              " differ: muster status --json names them"});
  }
}

/// Logs which nodes did not answer in time, or cannot or may not tell their facts.
void Preflight::name_silent(const std::vector<LinkId>& nodes) {
  for (const LinkId link : nodes) {
    const auto answer = answers_.find(link);
    if (answer == answers_.end() || !answer->second.text.empty()) {
      continue;
    }
    std::string text = describe_seat(*gang_.roster.find(link)) + " has sent no facts: it starts without being compared";
    if (said_.insert(text).second) {
      gang_.say(Level::Warning, std::move(text));
    }
  }
}

std::string Preflight::difference_of(LinkId link) const {
  return value_at(differences_, link);
}

}  // namespace muster::gang
