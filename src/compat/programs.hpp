#pragma once

// Several programs in one line of mpirun's, with ":" between them.

#include "compat/front_end.hpp"

namespace muster {

/// Takes all programs but the first from the line, for mpirun, which alone can start several: what is muster's
/// among their options is read, and the rest goes along as it is. The processes that they have together; 0: there is
/// one program. Fails where one of them has no number of processes, or places of its own.
[[nodiscard]] Result<int> take_other_programs(Translation& t);

}  // namespace muster
