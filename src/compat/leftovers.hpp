#pragma once

// Variables that another start has left behind. Private to compat/.

#include "compat/front_end.hpp"

namespace muster {

/// Other launchers read no RANK, WORLD_SIZE, MASTER_ADDR or TF_CONFIG. muster does, since some platforms set nothing else: where the
/// command line says nothing about nodes (`is_about_nodes`), and what they say is whole and possible. Else they are left out, and a
/// notice says so.
void leave_out_leftovers(Translation& translation, bool is_about_nodes);

}  // namespace muster
