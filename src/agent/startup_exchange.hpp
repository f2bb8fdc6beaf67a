#pragma once

// Keeps what this node brings to the gang before each start: its inputs, rank table, ports, and vote on the route plan.

#include "agent/input_watcher.hpp"
#include "exchange/exchanged_rank_table.hpp"
#include "gang/exchange_values.hpp"
#include "gang/gang.hpp"
#include "inputs/input_files.hpp"
#include "plan/launch_plan.hpp"
#include "process/timer.hpp"
#include "process/worker_port.hpp"
#include "rank_table/compare.hpp"
#include "rank_table/table_input.hpp"
#include "run/run_context.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// The rank table of a job, as this node has read it and as the nodes agree on it. Keeps one table while workers run:
/// before the first start each table that was read replaces the one before; before a restart only a table of a newer
/// version does. Orders ranks by the network's switches if these are given.
class RankTableExchange {
 public:
  /// `input` is empty if there is nothing to decide, and so no table.
  explicit RankTableExchange(const std::optional<PlanInput>& input) : input_(input) {}

  /// Fails if this node is not in the table, or the table is not the job's.
  [[nodiscard]] Result<> take(rank_table::TableFile file, bool is_restart);

  /// Summary of the table for the other nodes, or this node's part of a table that all nodes make. To be contributed
  /// again after another table has been taken.
  TableContribution contribution() const;

  bool is_here() const { return now_.has_value(); }
  const rank_table::TableFile& file() const { return now_->file; }
  /// Index of this node in the table.
  std::size_t instance() const { return now_->instance; }

  /// The table as input of an attempt's plan. It takes in the values that the nodes exchanged, and the order of
  /// `ranks` if there is any. Empty for a job without a table.
  std::optional<rank_table::RankedNode> part(const Placement& placement, const gang::Exchanged& merged,
                                             const std::vector<int>& ranks) const;

 private:
  /// A table that this node has read.
  struct Known {
    rank_table::TableFile file;
    std::size_t instance = 0;
    rank_table::Summary summary;  ///< empty: no other node to compare with
    std::vector<int> ranks;       ///< of this node; empty: no other node to compare with
  };

  [[nodiscard]] Result<> follow_switches(rank_table::TableFile& file) const;
  bool has_peers() const;
  bool needs_addresses() const;

  const std::optional<PlanInput>& input_;
  std::optional<Known> now_;
  /// The table used before: the nodes may have agreed on that one already.
  std::optional<Known> before_;
};

// The nodes' vote on ROUTE_PLAN=true.

/// Searches a route plan once the rank table is there, and waits for a topology file as long as the request says;
/// waits only once.
class RoutePlanVote {
 public:
  RoutePlanVote(boost::asio::io_context& io, const std::optional<PlanInput>& input);

  /// Called when the topology file has not come in time. From then on this node's vote is known without it.
  std::function<void()> on_late;

  bool is_wanted() const { return request_.has_value(); }
  /// The file to wait for.
  std::string file() const { return request_ ? request_->topology_file : ""; }

  /// The missing file, such as "topology '/x': missing"; empty: this node's vote is known.
  std::string check(const RankTableExchange& table);
  /// For another table or attempt: the plan beside the table may have changed.
  void forget();
  void cancel() { timer_.cancel(); }

  /// Returns this node's vote, once for each table and attempt; empty: it was returned before.
  std::optional<rank_table::RouteVote> take_vote();
  /// Logs the nodes' common decision, and returns the ranks of the next attempt; empty: those of the table.
  std::vector<int> decided_ranks(const gang::Exchanged& merged, const RankTableExchange& table) const;

 private:
  void wait();

  std::optional<rank_table::RouteRequest> request_;
  std::optional<RouteFinding> finding_;
  Timer timer_;
  bool has_voted_ = false;
  bool is_late_ = false;
};

// Passes all values of this node to the gang.

/// Contributes this node's values, and tells the gang whether the node is ready: the gang starts nothing before all
/// nodes are.
class StartupExchange {
 public:
  /// Reserves the ports of workers that listen, for all attempts. The context and the gang outlive this.
  StartupExchange(boost::asio::io_context& io, const RunContext& run, gang::Gang& gang);

  /// Contributes ports, this node's part of a generated rank table, and votes.
  [[nodiscard]] Result<> contribute();
  /// Watches the input files. Called again after an attempt, since another one may follow.
  void start();
  /// Names what this node has to finish before it is ready, such as "compile caches"; empty: nothing.
  void wait_for(const std::string& what);
  /// An attempt starts, or the job ends: watches no longer.
  void cancel();

  /// The rank table as input of an attempt's plan; empty for a job without one. Logs the decision on the route plan.
  std::optional<rank_table::RankedNode> table_of(const Placement& placement, const gang::Exchanged& merged) const;

 private:
  void on_inputs_changed(const std::string& waits_for);
  void tell_gang();
  [[nodiscard]] Result<> take_table(rank_table::TableFile file);
  std::string find_route();
  [[nodiscard]] Result<> contribute_table();

  const RunContext& run_;
  gang::Gang& gang_;
  Result<std::vector<WorkerPort>> ports_;
  InputWatcher inputs_;
  RankTableExchange table_;
  RoutePlanVote route_;
  std::string missing_input_;  ///< empty: none
  std::string other_wait_;     ///< empty: none
  bool has_started_ = false;   ///< an attempt
};

}  // namespace muster
