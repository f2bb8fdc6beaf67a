#pragma once

// Puts a rank table into the input of a plan: the table of a file, or this node's part of one that the nodes make.

#include "plan/launch_plan.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace muster {

/// Finds this node's instance in the table. Fails with `BadData` when none matches, and when the user's or the
/// platform's facts about nodes and workers differ from the table.
[[nodiscard]] Result<std::size_t> find_local_instance(const PlanInput& input, const rank_table::TableFile& file);

/// True where the nodes make a rank table: it was requested, or the mode needs one, none is named, and the addresses
/// of this node's devices are known.
bool makes_table(const ChosenMode& chosen, const rank_table::GenerateRequest& request);
/// Stores this node's part of that table in `input`. Fails when its devices or their addresses are unknown, and when
/// the mode does not use a table.
[[nodiscard]] Result<> make_local_part(PlanInput& input);
/// This node's ranks in the made table `text`, once all nodes have contributed.
rank_table::RankedNode part_of_made_table(const rank_table::Instance& own, const Placement& placement,
                                          std::string text);
/// This node's devices in the instance, which several nodes may share, by rank.
std::vector<rank_table::Device> local_devices(const PlanInput& input, const rank_table::TableFile& file,
                                              std::size_t instance, const std::vector<int>& ranks = {});

/// Takes the ranks and devices of this node from the table, and facts that no other source gives.
[[nodiscard]] Result<> apply_table(PlanInput& input, rank_table::TableFile file);

}  // namespace muster
