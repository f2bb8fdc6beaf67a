// How a question about the state of the job goes to all nodes, and the answers back to who has asked. The leader keeps no
// answer. See docs/control.md.
#include "gang/protocol/leader.hpp"

#include <utility>

namespace muster::gang {
namespace {

/// Questions that wait for answers; older ones are forgotten, and who asked gives up by itself.
constexpr std::size_t kMostQuestions = 16;
/// An agent that asks reads the answers of thousands of nodes one by one: what waits for it must not lose its link.
constexpr std::size_t kMostAnswerBytes = std::size_t{2} << 20U;

}  // namespace

void Leader::take(LinkId link, const StatusQuery& asked, Instant /*now*/) {
  if (state_ == State::Finishing) {
    return;
  }
  const std::vector<LinkId> links = roster_.links();
  if (questions_.size() >= kMostQuestions) {
    questions_.erase(questions_.begin());
  }
  Question& question = questions_[++last_question_];
  question.asker = link;
  question.number = asked.number;
  question.awaited = std::set<LinkId>(links.begin(), links.end());
  send(links, StatusQuery{last_question_});
}

void Leader::take(LinkId link, const StatusReport& report, Instant /*now*/) {
  const auto found = questions_.find(report.number);
  if (found == questions_.end() || found->second.awaited.erase(link) == 0) {
    return;
  }
  Question& question = found->second;
  question.bytes += report.text.size();
  const bool is_too_much = question.asker != kOwnLink && question.bytes > kMostAnswerBytes;
  const bool is_here = roster_.find(question.asker) != nullptr;
  if (is_here) {
    send(question.asker,
         StatusReport{question.number,
                      is_too_much ? std::string() : report.text,
                      static_cast<int>(question.awaited.size())});
  }
  if (question.awaited.empty() || !is_here) {
    questions_.erase(found);
  }
}

}  // namespace muster::gang
