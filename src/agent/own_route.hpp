#pragma once

// What this node would do for ROUTE_PLAN=true, and what all have decided. Private to run/.

#include "agent/own_table.hpp"

#include "gang/exchange_values.hpp"
#include "inputs/route.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace muster {

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
  [[nodiscard]] std::vector<int> decided_ranks(const gang::Exchanged& merged,
                                               const RankTableExchange& table) const;

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
