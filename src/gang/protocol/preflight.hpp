#pragma once

// Asks the nodes for their facts, and tells all nodes which of them differs from the others (docs/preflight.md). Part of
// the leader: pure.

#include "gang/preflight_values.hpp"
#include "gang/protocol/gang_state.hpp"
#include "gang/protocol/preflight_command.hpp"
#include "gang/protocol/preflight_links.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster::gang {

/// Compares the nodes of each attempt; needs `GangConfig::judge_facts`. Nothing waits for it: the nodes are asked a
/// moment after the start. They are judged once all have answered; if some have not after `kMostWait`, the others are
/// judged then, and all again after the last answer. With --preflight strict the nodes are asked when they join and
/// before each restart, and `holds_back` waits for these answers, then for those about --preflight-command and about
/// links.
class Preflight {
 public:
  /// Pause between a start and the question: it must not delay the join or the start of workers.
  static constexpr std::chrono::milliseconds kPause{250};
  /// Limit of the wait for an agent that does not answer.
  static constexpr std::chrono::seconds kMostWait{10};
  /// Limit of the wait for an agent that does not answer, from the question on, if the start has to wait.
  static constexpr std::chrono::seconds kMostDelay{5};
  /// Limit of the nodes that are named in one attempt.
  static constexpr std::size_t kMostNamed = 16;

  /// The state outlives it.
  explicit Preflight(GangState& gang);

  void note_joined(LinkId link, Instant now);
  /// Takes the answer to the question. False: the report answers another one.
  bool take(LinkId link, const StatusReport& report, Instant now);
  void forget(LinkId link);
  /// Follows an event: an attempt may have started, or the last answer may have come.
  void follow(Instant now);
  void on_tick(Instant now);
  std::optional<Instant> next_wake() const;

  /// True while the next attempt may not start, because a node has not answered yet or is unfit.
  bool holds_back(Instant now);
  /// The unfit nodes among those that have seats; empty: all are fit.
  std::vector<UnfitNode> unfit() const;
  /// True during a last call for a spare that may have the seat of the unfit node. The first call of this function
  /// begins the last call.
  bool awaits_spare(Instant now);

  /// The difference of the agent's node from the others, "driver 570.86 (580.95)"; empty: none, or none known.
  std::string difference_of(LinkId link) const;

 private:
  struct Answer {
    Instant asked;
    std::optional<Instant> at;  ///< empty: it has not answered
    std::string text{};
  };

  void begin_attempt();
  bool comparison_holds_back(Instant now);
  /// The outliers among these nodes as unfit ones.
  std::vector<UnfitNode> unfit_of(const std::vector<Outlier>& outliers, const std::vector<LinkId>& nodes) const;
  std::vector<UnfitNode> find_listed() const;
  void ask(const std::vector<LinkId>& links, Instant now);
  std::optional<Instant> end_of_delay(const std::vector<LinkId>& nodes) const;
  std::vector<ToldFacts> told_facts(const std::vector<LinkId>& nodes) const;
  PreflightVerdict judge(const std::vector<LinkId>& nodes);
  bool links_hold_back(Instant now);
  void record_outliers(const std::vector<LinkId>& nodes);
  std::string describe(const Outlier& outlier, const std::vector<LinkId>& nodes, bool has_begun) const;
  void tell(const std::vector<Outlier>& outliers, const std::vector<LinkId>& nodes, bool has_begun);
  void name_silent(const std::vector<LinkId>& nodes);

  GangState& gang_;
  bool is_strict_;
  std::map<LinkId, Answer> answers_;
  std::size_t awaited_ = 0;         ///< agents that have not answered
  std::optional<int> attempt_;      ///< the attempt to which the answers belong
  std::optional<Instant> asks_at_;  ///< when the nodes of the attempt are asked
  bool is_open_ = false;            ///< the attempt is judged, or judged again, when all have answered
  std::optional<Instant> due_;      ///< when the nodes are judged next
  std::vector<Outlier> by_facts_;   ///< outliers of the last judgement
  std::map<LinkId, std::string> differences_;
  std::set<std::string> said_;
  std::vector<LinkId> passed_;  ///< nodes that may start together, as the last check found
  std::vector<UnfitNode> unfit_;
  PreflightCommand command_;
  PreflightLinks links_;
  std::map<int, Instant> spare_calls_;  ///< ends of the last calls for a spare, by attempts
};

}  // namespace muster::gang
