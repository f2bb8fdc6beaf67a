#pragma once

// The file of horovodrun's --config-file.

#include "compat/front_end.hpp"

namespace muster::horovodrun {

/// What the file says and no flag does is given as if its option were. Nothing where no file is named. Fails for one that
/// cannot be read.
[[nodiscard]] Result<> take_configuration(Translation& t);

}  // namespace muster::horovodrun
