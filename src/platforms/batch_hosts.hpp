#pragma once

// What batch systems have in common: a leader and a port of the job's own; of PBS and LSF, a list of hosts with
// slots, and a script that runs on the first of them alone. Private to cluster/.

#include "platforms/host_lists.hpp"

#include <string>

namespace muster {

struct BatchHosts {
  SlotList list;
  std::optional<Sourced<int>> started_on;  ///< the number of this host, by what has started us
  std::string advice;                      ///< the line that starts muster on all of them
};

/// The place of this host in the list: by its very name, else by whatever means it. Empty where it is not there, or where
/// several entries may be meant.
[[nodiscard]] std::optional<int> position_of(const SlotList& list, const Snapshot& snapshot);

/// The hosts are the nodes, the first one leads. A host that is not the first one is known by its name; on
/// the first one only what has started us tells an agent from the script, which must not run alone.
/// Accelerators count more than the slots of the list, which stand for cores on many systems.
[[nodiscard]] Result<> apply_batch_hosts(PlatformFacts& facts,
                                         const BatchHosts& hosts,
                                         const Snapshot& snapshot);

/// MASTER_ADDR and MASTER_PORT where they are set, else this leader, and a port of the job's own.
[[nodiscard]] Result<> read_batch_leader(PlatformFacts& facts,
                                         const Sourced<std::string>& leader,
                                         const Snapshot& snapshot);

}  // namespace muster
