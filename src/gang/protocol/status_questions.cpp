// Passes status queries of one agent to all, and their reports back.
#include "gang/protocol/status_questions.hpp"

#include "base/text.hpp"

#include <string>
#include <utility>
#include <vector>

namespace muster::gang {
namespace {

/// Limit of pending queries. The oldest is dropped; its agent times out.
constexpr std::size_t kMostQuestions = 16;
/// Limit of the reports for one agent. It receives those of thousands of nodes one by one, and its send queue must
/// not overflow and end its link.
constexpr std::size_t kMostAnswerBytes = std::size_t{2} << 20U;

/// See `StatusReport`.
std::string own_ranks(const Member& member) {
  const bool is_unknown = member.node_rank && !member.ranks;
  const std::string ranks = member.node_rank && member.ranks ? describe_ranges(*member.ranks) : "";
  return is_unknown ? "" : ranks.empty() ? "none" : ranks;
}

/// "node 1 (b), node 2 (c)". Empty while many are awaited, or where one of them is gone or has no seat.
std::string names_of(const Roster& roster, const std::set<LinkId>& awaited) {
  constexpr std::size_t kMostNamed = 8;
  std::vector<std::string> names;
  for (const LinkId link : awaited) {
    const Member* const member = awaited.size() <= kMostNamed ? roster.find(link) : nullptr;
    if (member == nullptr || !member->seat) {
      return {};
    }
    names.push_back(describe_seat(*member));
  }
  return join(names, ", ");
}

}  // namespace

void StatusQuestions::ask(LinkId asker, const StatusQuery& asked) {
  if (gang_.state == LeaderState::Finishing) {
    return;
  }
  const std::vector<LinkId> links = gang_.roster.links();
  if (questions_.size() >= kMostQuestions) {
    questions_.erase(questions_.begin());
  }
  Question& question = questions_[++last_question_];
  question.asker = asker;
  question.number = asked.number;
  question.awaited = std::set<LinkId>(links.begin(), links.end());
  gang_.send(links, StatusQuery{last_question_, asked.what});
}

void StatusQuestions::answer(LinkId link, const StatusReport& report, const std::string& differs) {
  const auto found = questions_.find(report.number);
  if (found == questions_.end() || found->second.awaited.erase(link) == 0) {
    return;
  }
  Question& question = found->second;
  const Member& member = *gang_.roster.find(link);
  question.bytes += report.text.size();
  const bool is_too_much = question.asker != kOwnLink && question.bytes > kMostAnswerBytes;
  const bool is_here = gang_.roster.find(question.asker) != nullptr;
  if (is_here) {
    gang_.send(question.asker,
               StatusReport{question.number, is_too_much ? std::string() : report.text,
                            static_cast<int>(question.awaited.size()), own_ranks(member), differs,
                            gang_.node_failures.describe(name_of(member)), names_of(gang_.roster, question.awaited)});
  }
  if (question.awaited.empty() || !is_here) {
    questions_.erase(found);
  }
}

}  // namespace muster::gang
