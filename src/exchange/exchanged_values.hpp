#pragma once

// Exchanges small values between the nodes of a job: PMIx fences, ports, the job secret, ssh keys and MPI start
// methods.

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

/// The key "pmix_fence": concatenates the data of all nodes' ranks by node rank.
[[nodiscard]] gang::ExchangeKey pmix_fence_key();

/// Contribution of a node: the data of its ranks, or one of its ranks that has ended and will never contribute.
[[nodiscard]] std::string write_fence_part(std::string_view said);
[[nodiscard]] std::string write_absent_rank(int rank);

/// The result of a fence.
struct FenceEnd {
  std::optional<int> absent_rank;  ///< this rank has ended, so the fence will never complete
  std::string_view said;           ///< data of all ranks
};
/// Returns views into `merged`. Fails with `BadData`.
[[nodiscard]] Result<FenceEnd> read_fence_end(std::string_view merged);

// Ports that nodes have reserved for workers that listen.

/// The most ports that a node may reserve.
inline constexpr std::size_t kMostPortsOfNode = 4'096;

/// The key "ports": contributions of `write_ports` merge into what `read_ports` reads on all nodes.
[[nodiscard]] gang::ExchangeKey ports_key();

/// The ports that this node has reserved for workers that listen. `name`: its host's.
[[nodiscard]] NodePorts ports_of_node(const std::vector<WorkerPort>& reserved, int slots, const std::string& name);

/// Contribution of a node: its ports and slots. The leader fills in the host.
[[nodiscard]] std::string write_ports(const NodePorts& node);

/// The ports of all nodes by node rank. Fails with `BadData`.
[[nodiscard]] Result<std::vector<NodePorts>> read_ports(std::string_view merged);

// A secret that the processes of a job share: {job_secret}.

/// The key "job_secret": each node contributes random digits, and all get those of node 0. The secret is as well
/// protected as the links of the gang.
[[nodiscard]] gang::ExchangeKey job_secret_key();

/// Empty when no node has contributed one.
[[nodiscard]] std::string read_job_secret(const gang::Exchanged& merged);

// Public keys and ports with which mpirun reaches the nodes by ssh.

/// The key "ssh_keys", while an attempt runs: contributions of `write_ssh_node` merge into what `read_ssh_nodes`
/// reads on all nodes.
[[nodiscard]] gang::ExchangeKey ssh_keys_key();

[[nodiscard]] std::string write_ssh_node(const mpi::SshNode& node);

/// The nodes by node rank. Fails with `BadData`.
[[nodiscard]] Result<std::vector<mpi::SshNode>> read_ssh_nodes(std::string_view merged);

// The MPI start method: the first one that works on all nodes.

/// A start method, and why it does not work on a node.
struct MethodReport {
  std::string method;   ///< its name in `--mpi-start`
  std::string why_not;  ///< empty: it works

  bool operator==(const MethodReport&) const = default;
};

/// The method that all nodes have agreed on.
struct AgreedMethod {
  std::size_t index = 0;             ///< in the list of methods, which is the same on all nodes
  std::vector<std::string> why_not;  ///< for each method before it: "pmix does not work on node 2: ..."
};

/// The key "mpi_ways". A node contributes its reports in the order of preference. Merging fails when no method works
/// on all nodes.
[[nodiscard]] gang::ExchangeKey methods_key();
[[nodiscard]] std::string write_methods(const std::vector<MethodReport>& reports);
/// Fails with `BadData`.
[[nodiscard]] Result<AgreedMethod> read_agreed_method(std::string_view merged);

}  // namespace muster
