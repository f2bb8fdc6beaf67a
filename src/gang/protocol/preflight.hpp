#pragma once

// Asks the nodes for their facts, and tells all nodes which of them differs from the others (docs/preflight.md). Part of
// the leader: pure.

#include "gang/preflight_values.hpp"
#include "gang/protocol/gang_state.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster::gang {

/// Does nothing without `GangConfig::judge_facts`. Nothing waits for it: an attempt is judged in a turn after its start,
/// once all agents have answered, or `kMostWait` later with those that have, and then once more when the last one has.
class Preflight {
 public:
  /// Limit of the wait for an agent that does not answer.
  static constexpr std::chrono::seconds kMostWait{10};
  /// Limit of the nodes that are named in an attempt.
  static constexpr std::size_t kMostNamed = 16;

  /// The state outlives it.
  explicit Preflight(GangState& gang) : gang_(gang) {}

  /// An agent has joined: asks it.
  void ask(LinkId link, Instant now);
  /// Takes the answer to that. False: the report answers another question.
  bool take(LinkId link, const StatusReport& report, Instant now);
  void forget(LinkId link);
  /// Something has happened: an attempt may have started, or the last answer may have come.
  void follow(Instant now);
  void on_tick(Instant now);
  [[nodiscard]] std::optional<Instant> next_wake() const { return due_; }

  /// "driver 570.86 (580.95)", how the agent's node differs from the others; empty: it does not, or this is not known.
  [[nodiscard]] std::string difference_of(LinkId link) const;

 private:
  struct Answer {
    Instant asked;
    std::optional<Instant> at;  ///< empty: it has not answered
    std::string text{};
  };

  [[nodiscard]] std::vector<ToldFacts> told_facts() const;
  void judge();
  void tell(const std::vector<Outlier>& outliers);

  GangState& gang_;
  std::map<LinkId, Answer> answers_;
  std::size_t awaited_ = 0;     ///< agents that have not answered
  std::optional<int> attempt_;  ///< the last one that was seen to run
  bool is_open_ = false;        ///< that attempt is judged, or judged again, when all have answered
  std::optional<Instant> due_;  ///< next judgement
  std::map<LinkId, std::string> differences_;
  std::set<std::string> said_;
};

}  // namespace muster::gang
