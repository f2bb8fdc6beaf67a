#pragma once

// What ranks waited for in PyTorch's store, in words. Pure.

#include "services/torch_store/store_awaited_keys.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace muster {

/// "in the store of the ranks '/a' was waited for by ranks 0, 2, '/b' by 3 clients of 10.0.0.2, and others"; empty: nothing
/// was. `here` is the address of this machine, whose processes have 127.0.0.1 as well, and `rank_of` knows some of those.
[[nodiscard]] std::string describe_awaited(
    const store::AwaitedKeys& awaited,
    const std::string& here,
    const std::function<std::optional<int>(std::uint32_t pid)>& rank_of);

}  // namespace muster
