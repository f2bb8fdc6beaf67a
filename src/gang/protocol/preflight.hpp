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

/// Compares nothing without `GangConfig::judge_facts`. Each attempt is judged. Nothing waits for that: the nodes are asked a
/// moment after the start, and judged once all have answered, or `kMostWait` later those that have, and all once more
/// when the last one has. With --preflight strict the nodes are asked when they join and before each restart, and
/// `holds_back` waits for their answers, and then for those about the command of --preflight-command and
/// about links.
class Preflight {
 public:
  /// Between a start and the question: neither the join nor the start of workers pays for it.
  static constexpr std::chrono::milliseconds kPause{250};
  /// Limit of the wait for an agent that does not answer.
  static constexpr std::chrono::seconds kMostWait{10};
  /// Limit of the wait for an agent that does not answer, from the question on, if the start waits for the answer.
  static constexpr std::chrono::seconds kMostDelay{5};
  /// Limit of the nodes that are named in an attempt.
  static constexpr std::size_t kMostNamed = 16;

  /// The state outlives it.
  explicit Preflight(GangState& gang);

  void note_joined(LinkId link, Instant now);
  /// Takes the answer to the question. False: the report answers another one.
  bool take(LinkId link, const StatusReport& report, Instant now);
  void forget(LinkId link);
  /// Something has happened: an attempt may have started, or the last answer may have come.
  void follow(Instant now);
  void on_tick(Instant now);
  std::optional<Instant> next_wake() const;

  /// True while the next attempt may not start: a node has not answered yet, or one is unfit.
  bool holds_back(Instant now);
  /// The unfit nodes among those that have seats; empty: all are fit.
  std::vector<UnfitNode> unfit() const;
  /// True during a last call, which begins with the first call of this function: a spare may come for the seat of the unfit
  /// node.
  bool awaits_spare(Instant now);

  /// "driver 570.86 (580.95)", how the agent's node differs from the others; empty: it does not, or this is not known.
  std::string difference_of(LinkId link) const;

 private:
  struct Answer {
    Instant asked;
    std::optional<Instant> at;  ///< empty: it has not answered
    std::string text{};
  };

  void begin_attempt();
  bool comparison_holds_back(Instant now);
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
  std::vector<Outlier> by_facts_;   ///< of the last judgement
  std::map<LinkId, std::string> differences_;
  std::set<std::string> said_;
  std::vector<LinkId> passed_;  ///< nodes that may start together
  std::vector<UnfitNode> unfit_;
  PreflightCommand command_;
  PreflightLinks links_;
  std::map<int, Instant> spare_calls_;  ///< ends of the last calls for a spare, by attempts
};

}  // namespace muster::gang
