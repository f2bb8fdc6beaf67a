#pragma once

// Helpers of the store's service (services.hpp declares it): describe the ranks that are missing in init_process_group,
// and the keys that ranks wait for, from the addresses and pids of the store's clients. Pure.

#include "gang/exchange_values.hpp"
#include "services/service.hpp"
#include "services/torch_store/store_values.hpp"
#include "services/torch_store/waits.hpp"

#include <optional>
#include <string>
#include <vector>

namespace muster {

/// True: the process is of the machine `here`, whose processes may also come from 127.0.0.1.
inline bool is_from(const store::Process& process, const std::string& here) {
  return process.address == here || process.address == "127.0.0.1";
}

/// The rank of the process; empty: it is on another machine, has sent no pid, or is unknown to `host`.
inline std::optional<int> rank_of_process(const store::Process& process, const std::string& here,
                                          const ServiceHost& host) {
  return is_from(process, here) && process.pid ? host.rank_of(*process.pid) : std::nullopt;
}

/// "ranks 3, 8-15" and, where only their number is known, "2 of ranks 16-23 (10.0.0.3)". `nodes` are ordered by rank,
/// as are the ranks on them; the first is this machine, whose processes have 127.0.0.1. `host` finds the rank of
/// some processes.
std::string describe_missing(const std::vector<store::Process>& arrived, const std::vector<gang::NodePlace>& nodes,
                             const ServiceHost& host);

/// "in the store of the ranks '/a' was waited for by ranks 0, 2, '/b' by 3 clients of 10.0.0.2, and others"; empty:
/// no client waits. `here` is the address of this machine, whose processes have 127.0.0.1 as well.
std::string describe_awaited(const store::AwaitedKeys& awaited, const std::string& here, const ServiceHost& host);

}  // namespace muster
