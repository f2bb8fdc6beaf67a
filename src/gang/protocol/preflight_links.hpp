#pragma once

// Has the nodes measure the links between them before an attempt, and finds those whose links are bad (docs/preflight.md).
// Part of the leader: pure.

#include "gang/link_check.hpp"
#include "gang/protocol/gang_state.hpp"
#include "gang/protocol/preflight_command.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace muster::gang {

/// Needs `GangConfig::judge_links` and three nodes. The leader asks all nodes with seats to listen, and then those
/// that listen to measure. If several nodes have only bad links, these nodes then measure the links between them. The
/// check is repeated before each attempt, and when a node has come.
class PreflightLinks {
 public:
  /// Limit of the wait for the nodes to listen.
  static constexpr std::chrono::seconds kTimeToListen{2};
  /// Limit of the wait for the results of a node, after its last round.
  static constexpr std::chrono::seconds kTimeToTell{2};
  /// Checks before one attempt, if nodes come and go meanwhile.
  static constexpr int kMostChecks = 3;
  /// Limit of the nodes that are named in a job because they start without the check.
  static constexpr std::size_t kMostWarnings = 16;

  /// The state outlives it.
  explicit PreflightLinks(GangState& gang) : gang_(gang) {}

  /// Takes the answer to a question. False: the report answers another one.
  bool take(LinkId link, const StatusReport& report, Instant now);
  void forget(LinkId link);
  void on_tick(Instant now);
  std::optional<Instant> next_wake() const { return limit_; }

  /// True while the next attempt may not start, because the nodes measure.
  bool holds_back(Instant now);
  /// The nodes with bad links, once after each check.
  std::optional<std::vector<Outlier>> take_findings();
  /// True if any node has bad links. Cheaper than `outliers`, for which the nodes must be put in order.
  bool has_outliers() const { return !outliers_.empty(); }
  /// The nodes with bad links, each by its index in `nodes`.
  std::vector<Outlier> outliers(const std::vector<LinkId>& nodes) const;

 private:
  enum class Phase {
    Idle,
    Listening,
    Measuring,
    Done
  };
  struct Node {
    LinkId link = kOwnLink;
    std::string address{};
    bool is_awaited = false;
    std::optional<LinkPort> port{};
    std::optional<LinkResults> results{};
  };

  Node* find(LinkId link);
  bool has_checked(const std::vector<LinkId>& nodes) const;
  bool awaits_answers(Instant now) const;
  void add_results(Node& node, LinkResults results) const;
  void begin(const std::vector<LinkId>& nodes, Instant now);
  void ask_to_listen(std::vector<std::size_t> asked, Instant now);
  void ask_to_measure(Instant now);
  void add_rounds(LinkRounds added);
  std::vector<LinkPlan> make_plans() const;
  void judge(Instant now);
  void conclude(const LinkVerdict& verdict);
  void name_unmeasured(const LinkVerdict& verdict);
  void tell_once(Level level, const std::string& text);
  void warn_of(LinkId link, const std::string& what);

  GangState& gang_;
  Phase phase_ = Phase::Idle;
  std::optional<int> attempt_;      ///< the attempt before which the nodes are checked
  int check_ = 0;                   ///< number of the last questions: answers name it
  int checks_ = 0;                  ///< number of checks before this attempt
  std::vector<Node> nodes_;         ///< the nodes of the check; from `Measuring` on, only nodes that listen
  std::vector<std::size_t> asked_;  ///< places in `nodes_`: all, then those that were bad together
  std::set<LinkId> checked_;        ///< nodes that were asked, as long as they are here
  LinkRounds rounds_;               ///< of `nodes_`
  std::size_t first_round_ = 0;     ///< number of the first round that the asked nodes measure
  Instant too_late_;                ///< results that come later do not count
  std::optional<Instant> limit_;    ///< of the wait for answers; empty: it is over
  std::map<LinkId, Outlier> outliers_;
  bool has_findings_ = false;
  std::set<std::string> said_;
};

}  // namespace muster::gang
