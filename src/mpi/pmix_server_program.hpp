#pragma once

#include <string_view>

namespace muster::mpi {

/// The PMIx server as an executable file for this machine: it is linked dynamically and needs glibc 2.17.
[[nodiscard]] std::string_view pmix_server_program();

}  // namespace muster::mpi
