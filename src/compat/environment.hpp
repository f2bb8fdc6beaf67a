#pragma once

// What workers of accelerate find in their environment. Private to compat/accelerate/.

#include "compat/launch.hpp"

namespace muster::accelerate {

/// Sets the variables that the launcher gives workers of this kind, beside those of torchrun. `is_simple`: one process that is
/// no rank. Fails for a value that its option does not take.
[[nodiscard]] Result<> export_environment(Translation& translation,
                                          const Launch& launch,
                                          bool is_simple);

}  // namespace muster::accelerate
