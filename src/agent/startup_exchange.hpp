#pragma once

// The ports on which workers of this node listen, and those of the other nodes.

#include "agent/run.hpp"
#include "exchange/exchanged_values.hpp"
#include "gang/exchange_values.hpp"
#include "inputs/input_files.hpp"
#include "plan/launch_plan.hpp"
#include "process/spawn.hpp"
#include "rank_table/compare.hpp"
#include "services/worker_port.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Reserves them as long as it lives: they are the same for all attempts.
class PortExchange {
 public:
  /// `job` outlives this.
  explicit PortExchange(const JobPlan& job);

  /// What this node tells the others: its ports, its slots and its name `host`; empty: nobody needs to know.
  /// Fails where ports could not be reserved.
  [[nodiscard]] Result<std::string> contribution(const std::string& host) const;

  /// By node rank; empty: nobody has told any.
  [[nodiscard]] static std::vector<NodePorts> of_all(const gang::Exchanged& merged);

 private:
  const JobPlan& job_;
  Result<std::vector<WorkerPort>> reserved_;
};

// The rank table of this node, from the moment that it is there.

/// Goes by the table that was read last: before the first start by each that comes, and before a restart by
/// one that its controller has counted as newer. Never changes while workers run. Its
/// ranks follow the switches where the user says what these are.
class RankTableExchange {
 public:
  /// `input` is empty where there is nothing to decide, and so no table.
  explicit RankTableExchange(const std::optional<PlanInput>& input) : input_(input) {}

  /// Fails when this node is not in the table, or the table is not the job's.
  [[nodiscard]] Result<> take(rank_table::TableFile file, bool is_restart);

  /// What this node tells the others of it, or of its part of one that all make; empty: nothing. To be
  /// contributed again when another table has been taken.
  [[nodiscard]] std::string contribution() const;

  [[nodiscard]] bool is_here() const { return now_.has_value(); }
  [[nodiscard]] const rank_table::TableFile& file() const { return now_->file; }
  /// The place of this node in it.
  [[nodiscard]] std::size_t instance() const { return now_->instance; }

  /// What the plan of an attempt is made from, with what the nodes have told each other, and with `ranks`
  /// unless that is empty; empty: the job has no table.
  [[nodiscard]] std::optional<rank_table::RankedNode> part(const Placement& placement, const gang::Exchanged& merged,
                                                           const std::vector<int>& ranks) const;

 private:
  /// A table that this node has read.
  struct Known {
    rank_table::TableFile file;
    std::size_t instance = 0;
    rank_table::Summary summary;  ///< empty: there is nobody to tell it
    std::vector<int> ranks;       ///< of this node; empty likewise
  };

  [[nodiscard]] Result<> follow_switches(rank_table::TableFile& file) const;
  [[nodiscard]] bool has_news() const;
  [[nodiscard]] bool needs_addresses() const;

  const std::optional<PlanInput>& input_;
  std::optional<Known> now_;
  /// The one that it took the place of: the nodes may have agreed on that already.
  std::optional<Known> before_;
};

// By which ways ranks of MPI could start on this node, and which one all nodes have agreed on.

class MpiStartVote {
 public:
  /// All of it outlives this. `run_folder` may be empty.
  MpiStartVote(const JobPlan& job, const Inherited& inherited, const std::map<std::string, std::string>& variables,
               const std::string& run_folder)
      : job_(job), inherited_(inherited), variables_(variables), run_folder_(run_folder) {}

  /// What this node tells the others, after a look at what is installed, which takes some 10 ms, and 5 s at most;
  /// empty: there is only one way.
  [[nodiscard]] std::string contribution() const;

  /// The first one where nothing had to be agreed on.
  [[nodiscard]] static AgreedMethod agreed(const gang::Exchanged& merged);
  /// On the first node, before the first attempt, where there was something to agree on.
  void say(const AgreedMethod& way, const Placement& placement) const;

 private:
  [[nodiscard]] MethodReport report(const ChosenMode& mode) const;
  /// Empty: it works here.
  [[nodiscard]] std::string why_not(const ChosenMode& mode) const;
  [[nodiscard]] std::string why_no_pmix() const;
  [[nodiscard]] std::string why_not_found(const std::vector<std::string>& programs) const;

  const JobPlan& job_;
  const Inherited& inherited_;
  const std::map<std::string, std::string>& variables_;
  const std::string& run_folder_;
};

// What this node would do for ROUTE_PLAN=true, and what all have decided.

/// Looks for a plan when the rank table is there, and waits for a topology as long as the request says; after
/// that it never waits again.
class RoutePlanVote {
 public:
  RoutePlanVote(boost::asio::io_context& io, const std::optional<PlanInput>& input);

  /// The time is over: whoever waits looks again.
  std::function<void()> on_late;

  [[nodiscard]] bool is_wanted() const { return request_.has_value(); }
  /// The file that may be waited for.
  [[nodiscard]] std::string file() const { return request_ ? request_->topology_file : ""; }

  /// What it waits for: "topology '/x': missing"; empty: it knows what this node would do.
  [[nodiscard]] std::string look(const RankTableExchange& table);
  /// The table is another one, or another attempt follows: a plan beside it may be another one, too.
  void forget();
  void cancel() { timer_.cancel(); }

  /// What to tell the others, once for each table and attempt; empty: nothing new.
  [[nodiscard]] std::optional<std::string> take_vote();
  /// Carries out what all have decided, and says so; the ranks of the next attempt, empty where they are
  /// those of the table.
  [[nodiscard]] std::vector<int> decided_ranks(const gang::Exchanged& merged, const RankTableExchange& table) const;

 private:
  void wait();

  std::optional<rank_table::RouteRequest> request_;
  std::optional<RouteFinding> finding_;
  boost::asio::steady_timer timer_;
  bool is_told_ = false;
  bool is_waiting_ = false;
  bool is_late_ = false;
};

}  // namespace muster
