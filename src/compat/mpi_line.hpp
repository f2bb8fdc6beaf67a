#pragma once

// A line of horovodrun with --mpi.

#include "compat/front_end.hpp"

namespace muster::horovodrun {

/// What mpirun would be told, as muster's front end of mpirun understands it; `mpi` is what asked for that. Fails for options that
/// mpirun has not.
[[nodiscard]] Result<> translate_mpi(Translation& t, const Sourced<std::string>& mpi);

}  // namespace muster::horovodrun
