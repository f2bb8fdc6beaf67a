#pragma once

// What the nodes of a job tell each other so that mpirun reaches them by ssh: public keys and ports.

#include "gang/exchange_values.hpp"
#include "mpi/ssh_files.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// The key "ssh_keys", while an attempt runs: what `write_ssh_node` has written on each node becomes what
/// `read_ssh_nodes` reads on all of them.
[[nodiscard]] gang::ExchangeKey ssh_keys_key();

[[nodiscard]] std::string write_ssh_node(const mpi::SshNode& node);

/// By node rank. Fails with `BadData`.
[[nodiscard]] Result<std::vector<mpi::SshNode>> read_ssh_nodes(std::string_view merged);

}  // namespace muster
