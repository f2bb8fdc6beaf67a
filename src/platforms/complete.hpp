#pragma once

// What is known of the nodes, made complete. Private to cluster/.

#include "platforms/roles.hpp"

namespace muster {

/// Fills what one node does not need to be told, and asks for what several nodes need, in the words that
/// the command line has for it. Fails where a rank is not below its count.
[[nodiscard]] Result<> complete(PlatformFacts& facts,
                                const JobRoles& roles,
                                const Platform* platform,
                                const OptionNames& names);

}  // namespace muster
