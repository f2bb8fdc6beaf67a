#pragma once

// Which ranks have not come yet, by what is known of those that have: an address and a pid. Pure.

#include "gang/exchange_values.hpp"
#include "services/torch_store/store.hpp"
#include "services/torch_store/waits.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace muster {

using RankOf = std::function<std::optional<int>(std::uint32_t pid)>;

/// The processes of the machine `here` may also come from 127.0.0.1.
[[nodiscard]] inline bool is_from(const store::Process& process, const std::string& here) {
  return process.address == here || process.address == "127.0.0.1";
}

/// Empty: it is of another machine, tells no pid, or is not known.
[[nodiscard]] inline std::optional<int> rank_of_process(const store::Process& process, const std::string& here,
                                                        const RankOf& rank_of) {
  return is_from(process, here) && process.pid ? rank_of(*process.pid) : std::nullopt;
}

/// "ranks 3, 8-15" and, where only their number is known, "2 of ranks 16-23 (10.0.0.3)". `nodes` by their rank, and so are the ranks
/// on them; the first one is this machine, whose processes have 127.0.0.1. `rank_of`: of one of those; empty: it does not know.
[[nodiscard]] std::string describe_missing(const std::vector<store::Process>& arrived,
                                           const std::vector<gang::NodePlace>& nodes, const RankOf& rank_of);

// What ranks waited for in PyTorch's store, in words. Pure.

/// "in the store of the ranks '/a' was waited for by ranks 0, 2, '/b' by 3 clients of 10.0.0.2, and others"; empty: nothing
/// was. `here` is the address of this machine, whose processes have 127.0.0.1 as well, and `rank_of` knows some of those.
[[nodiscard]] std::string describe_awaited(const store::AwaitedKeys& awaited, const std::string& here,
                                           const std::function<std::optional<int>(std::uint32_t pid)>& rank_of);

}  // namespace muster
