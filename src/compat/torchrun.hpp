#pragma once

// What torchrun's options say about where lines go. Private to compat/torchrun/.

#include "compat/front_end.hpp"

namespace muster {

/// Files, their layout, prefixes, and the ranks that are shown.
void translate_output(Translation& translation);

}  // namespace muster
