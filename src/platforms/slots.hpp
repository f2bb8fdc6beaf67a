#pragma once

// How many workers this node and the whole job have. Private to cluster/.

#include "platforms/platform.hpp"

#include "platforms/cluster.hpp"

namespace muster {

/// "4", or "2:4" for a range, with its source; the number of all workers if that stands for it.
[[nodiscard]] Sourced<std::string> nodes_as_written(const PlatformFacts& facts);

/// As many workers as a platform counts devices on each node. 0 says that there are none, or that nobody
/// counted: then they are counted here.
[[nodiscard]] Result<> read_devices(PlatformFacts& facts,
                                    const Snapshot& snapshot,
                                    const std::string& name);

/// The same from a text.
[[nodiscard]] Result<> read_devices(PlatformFacts& facts,
                                    const std::optional<Sourced<std::string>>& text);

/// A job of `read_torch_nodes`, with NPROC_PER_NODE devices on each node and its name in `job_id`.
[[nodiscard]] Result<PlatformFacts> read_torch_job(const Snapshot& snapshot,
                                                   const std::string& job_id);

/// The variable `name` counts the devices of all nodes, which the platform counts for each node, too.
[[nodiscard]] Result<> check_all_devices(const PlatformFacts& facts,
                                         const Snapshot& snapshot,
                                         const std::string& name);

/// Workers of this node: --nproc-per-node, the platform, or counted devices. Where only the
/// platform's number of all workers is known, it is dealt to the nodes evenly.
[[nodiscard]] Result<Sourced<int>> find_slots(const PlatformFacts& facts, const Snapshot& snapshot);

/// A remark where the user asks for more workers than this node has devices. Empty: there is nothing to say.
[[nodiscard]] std::string describe_crowd(const Sourced<int>& slots, const Snapshot& snapshot);

/// The number of all workers, as it is given, else as the platform says; and the number of nodes where
/// nobody gives that.
[[nodiscard]] Result<> apply_total(PlatformFacts& facts,
                                   const std::optional<Sourced<int>>& given,
                                   const Sourced<int>& slots);

/// Slots of each node, and how they were found.
[[nodiscard]] Result<> add_slots(Cluster& cluster,
                                 const PlatformFacts& facts,
                                 const Sourced<int>& slots);

}  // namespace muster
