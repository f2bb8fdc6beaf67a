// Collects the facts of the nodes, and says each difference once.
#include "gang/protocol/preflight.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace muster::gang {
namespace {

/// Number of the question for facts. StatusQuestions counts its own from 1.
constexpr int kFactsNumber = 0;
/// More than any node tells. A longer text is no answer, and is not kept.
constexpr std::size_t kMostToldBytes = 4'096;

double since_epoch(Instant at) {
  return std::chrono::duration<double>(at.time_since_epoch()).count();
}

std::string describe(const Outlier& outlier) {
  return "node " + to_string(outlier.node) + " (" + outlier.host + ") differs from " +
         count_of(static_cast<std::size_t>(outlier.others), "other") + ": " + outlier.facts;
}

}  // namespace

void Preflight::ask(LinkId link, Instant now) {
  if (!gang_.config.judge_facts || answers_.contains(link)) {
    return;
  }
  answers_.emplace(link, Answer{now, std::nullopt});
  ++awaited_;
  gang_.send(link, StatusQuery{kFactsNumber, kFactsQuestion});
}

bool Preflight::take(LinkId link, const StatusReport& report, Instant now) {
  if (report.number != kFactsNumber) {
    return false;
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
}

void Preflight::follow(Instant now) {
  if (!gang_.config.judge_facts || gang_.state != LeaderState::Running) {
    due_.reset();
    return;
  }
  if (attempt_ != gang_.attempt.number()) {
    attempt_ = gang_.attempt.number();
    is_open_ = true;
    due_ = now + kMostWait;
  }
  if (is_open_ && awaited_ == 0) {
    is_open_ = false;
    due_ = now;  // in a turn of its own: the starts are on their way before
  }
}

void Preflight::on_tick(Instant now) {
  if (due_ && now >= *due_) {
    due_.reset();
    judge();
  }
}

std::vector<ToldFacts> Preflight::told_facts() const {
  std::vector<ToldFacts> told;
  const std::vector<LinkId>& nodes = gang_.attempt.nodes();
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

void Preflight::judge() {
  const std::vector<ToldFacts> told = told_facts();
  const PreflightVerdict verdict = gang_.config.judge_facts(told);
  gang_.say(Level::Debug, "compared the facts of " + count_of(told.size(), "node") + ": " +
                              std::to_string(verdict.outliers.size()) + " differ");
  differences_.clear();
  for (const Outlier& outlier : verdict.outliers) {
    differences_[gang_.attempt.nodes().at(static_cast<std::size_t>(outlier.node.value))] = outlier.facts;
  }
  gang_.record.outliers.assign(
      verdict.outliers.begin(),
      verdict.outliers.begin() + static_cast<std::ptrdiff_t>(std::min(verdict.outliers.size(), kMostNamed)));
  tell(verdict.outliers);
  if (!verdict.mixed.empty() && said_.insert(verdict.mixed).second) {
    gang_.say(Level::Info, "the nodes are of several kinds: " + verdict.mixed);
  }
}

void Preflight::tell(const std::vector<Outlier>& outliers) {
  std::size_t named = 0;
  for (const Outlier& outlier : outliers) {
    std::string text = describe(outlier);
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

std::string Preflight::difference_of(LinkId link) const {
  const auto found = differences_.find(link);
  return found == differences_.end() ? std::string() : found->second;
}

}  // namespace muster::gang
