#pragma once

// Passes status queries of one agent to all, and their reports back (docs/control.md). Part of the leader: pure.

#include "gang/protocol/gang_state.hpp"

#include <cstddef>
#include <map>
#include <set>
#include <string>

namespace muster::gang {

/// Forwards each report at once: the leader stores none.
class StatusQuestions {
 public:
  /// The state outlives it.
  explicit StatusQuestions(GangState& gang) : gang_(gang) {}

  void ask(LinkId asker, const StatusQuery& asked);
  /// `differs`: see `StatusReport`.
  void answer(LinkId link, const StatusReport& report, const std::string& differs);

 private:
  /// A query that waits for reports.
  struct Question {
    LinkId asker = kOwnLink;
    int number = 0;  ///< number in the asking agent's query
    std::set<LinkId> awaited;
    std::size_t bytes = 0;  ///< size of the reports so far
  };

  GangState& gang_;
  std::map<int, Question> questions_;
  int last_question_ = 0;
};

}  // namespace muster::gang
