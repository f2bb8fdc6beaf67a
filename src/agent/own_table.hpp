#pragma once

// The rank table of this node, from the moment that it is there. Private to run/.

#include "gang/exchange_values.hpp"
#include "plan/launch_plan.hpp"
#include "rank_table/compare.hpp"

#include <optional>
#include <string>
#include <vector>

namespace muster {

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
  [[nodiscard]] std::optional<rank_table::RankedNode> part(const Placement& placement,
                                                           const gang::Exchanged& merged,
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

}  // namespace muster
