#pragma once

// Describes the values on which the nodes agree before the workers start, and lists all values that nodes exchange.

#include "base/endpoint.hpp"
#include "exchange/exchanged_rank_table.hpp"
#include "gang/exchanged_value.hpp"
#include "process/inherited.hpp"
#include "process/worker_port.hpp"
#include "run/run_context.hpp"
#include "services/mpi/running_values.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace muster {

/// Facts of this node from which it makes its contributions.
struct StartupFacts {
  const RunContext& run;
  const std::vector<WorkerPort>& ports;  ///< reserved for workers that listen
};

/// The most ports that a node may reserve.
inline constexpr std::size_t kMostPortsOfNode = 4'096;

/// Reserves ports of this node. Fails if there are too few, or if `count` is more than a node may have.
[[nodiscard]] Result<std::vector<WorkerPort>> reserve_ports(int count);

/// Ports that nodes have reserved for workers that listen, by node rank. The leader fills in the host.
struct PortsValue {
  static constexpr const char* kName = "ports";
  static constexpr std::size_t kMostOfNode = 6 * kMostPortsOfNode + 512;  // a port takes 6 bytes at most
  static constexpr std::size_t kMostMerged = std::size_t{2} << 20U;
  using Own = NodePorts;
  using Agreed = std::vector<NodePorts>;
  static std::optional<Own> contribute(const StartupFacts& facts);
  static Result<Agreed> merge(std::vector<Contribution<Own>> all);
};

/// A secret that the processes of a job share, {job_secret}: node 0 draws random digits. It is protected as well as
/// the links of the gang.
struct JobSecretValue {
  static constexpr const char* kName = "job_secret";
  static constexpr std::size_t kMostOfNode = 32;
  static constexpr std::size_t kMostMerged = kMostOfNode;
  using Own = std::string;
  using Agreed = std::string;
  static std::optional<Own> contribute(const StartupFacts& facts);
  static Result<Agreed> merge(std::vector<Contribution<Own>> all);
};

/// A way to start the ranks of MPI, and why it does not work on a node.
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

/// The start method for the ranks of MPI: the first one that works on all nodes. If there are several methods, a node
/// reports on each in the order of preference. For that it searches the installed programs, which takes about 10 ms,
/// and 5 s at most.
struct MpiStartValue {
  static constexpr const char* kName = "mpi_ways";
  static constexpr std::size_t kMostOfNode = 8'192;
  static constexpr std::size_t kMostMerged = std::size_t{64} << 10U;
  using Own = std::vector<MethodReport>;
  using Agreed = AgreedMethod;
  static std::optional<Own> contribute(const StartupFacts& facts);
  /// Fails when no method works on all nodes.
  static Result<Agreed> merge(std::vector<Contribution<Own>> all);
};

/// All values that nodes exchange, in the order in which the leader merges them.
using ExchangedValues =
    std::tuple<PortsValue, RankTableValue, RoutePlanValue, FenceValue, SshKeysValue, JobSecretValue, MpiStartValue>;

/// Their keys, which are the same on all nodes.
gang::ExchangeKeys exchange_keys();

/// The values that this node contributes before it joins.
std::vector<gang::Contributed> startup_contributions(const StartupFacts& facts);

}  // namespace muster

namespace muster::gang::fields {

void describe(auto& io, NodePorts& node) {
  io("host", node.host, kAnyText);
  io("name", node.name, kAnyText);
  io("slots", node.slots, kCount);
  io("ports", node.ports, List<Integer>{kMostPortsOfNode, Keep::First, {1, 65'535}});
}

void describe(auto& io, MethodReport& report) {
  io("way", report.method, kAnyText);
  io("why_not", report.why_not, kAnyText);
}

void describe(auto& io, AgreedMethod& method) {
  io("index", method.index, kNumber);
  io("why_not", method.why_not, kAnyTexts);
}

}  // namespace muster::gang::fields
