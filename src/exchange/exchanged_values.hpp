#pragma once

// What ranks of MPI bring together over all nodes while they run: fences of PMIx.

#include "base/endpoint.hpp"
#include "base/result.hpp"
#include "gang/exchange_values.hpp"
#include "mpi/ssh_files.hpp"
#include "services/worker_port.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// The key "pmix_fence": what the ranks of each node have to say, one behind the other by node rank.
[[nodiscard]] gang::ExchangeKey pmix_fence_key();

/// What a node contributes: what its ranks have said, or that this one of them will never say anything.
[[nodiscard]] std::string write_fence_part(std::string_view said);
[[nodiscard]] std::string write_absent_rank(int rank);

/// What has become of a fence.
struct FenceEnd {
  std::optional<int> absent_rank;  ///< it will never be over, since this rank has ended
  std::string_view said;           ///< by all ranks
};
/// Views into `merged`. Fails with `BadData`.
[[nodiscard]] Result<FenceEnd> read_fence_end(std::string_view merged);

// The ports that nodes have reserved for workers that listen, brought together by the exchange.

/// The most ports that a node may reserve.
inline constexpr std::size_t kMostPortsOfNode = 4'096;

/// The key "ports": what `write_ports` has written on each node becomes what `read_ports` reads on
/// all of them.
[[nodiscard]] gang::ExchangeKey ports_key();

/// What a node has reserved for workers that listen. `name`: its host's.
[[nodiscard]] NodePorts ports_of_node(const std::vector<WorkerPort>& reserved, int slots, const std::string& name);

/// What a node contributes: its ports and its slots. The host is filled on the leader.
[[nodiscard]] std::string write_ports(const NodePorts& node);

/// The ports of all nodes by node rank. Fails with `BadData`.
[[nodiscard]] Result<std::vector<NodePorts>> read_ports(std::string_view merged);

// A secret that the nodes of a job share, for its own processes: {job_secret}.

/// The key "job_secret": each node contributes random digits, and all get those of node 0. What the links of the
/// gang protect is protected.
[[nodiscard]] gang::ExchangeKey job_secret_key();

/// Empty: nobody has contributed one.
[[nodiscard]] std::string read_job_secret(const gang::Exchanged& merged);

// What the nodes of a job tell each other so that mpirun reaches them by ssh: public keys and ports.

/// The key "ssh_keys", while an attempt runs: what `write_ssh_node` has written on each node becomes what
/// `read_ssh_nodes` reads on all of them.
[[nodiscard]] gang::ExchangeKey ssh_keys_key();

[[nodiscard]] std::string write_ssh_node(const mpi::SshNode& node);

/// By node rank. Fails with `BadData`.
[[nodiscard]] Result<std::vector<mpi::SshNode>> read_ssh_nodes(std::string_view merged);

// By which way the ranks of an MPI job start: the first that works on all nodes.

/// A way, and why it does not work on a node.
struct MethodReport {
  std::string way;      ///< as `--mpi-start` calls it
  std::string why_not;  ///< empty: it does work

  bool operator==(const MethodReport&) const = default;
};

/// What all nodes have agreed on.
struct AgreedMethod {
  std::size_t index = 0;             ///< in the list of ways, which is the same on all nodes
  std::vector<std::string> why_not;  ///< the ways before it: "pmix does not work on node 2: ..."
};

/// The key "mpi_ways". What a node contributes are its reports, in the order in which ways are preferred. Merging
/// them fails where no way works on all nodes.
[[nodiscard]] gang::ExchangeKey ways_key();
[[nodiscard]] std::string write_ways(const std::vector<MethodReport>& reports);
/// Fails with `BadData`.
[[nodiscard]] Result<AgreedMethod> read_agreed_method(std::string_view merged);

}  // namespace muster
