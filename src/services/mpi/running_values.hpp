#pragma once

// Describes the values that nodes exchange while an attempt runs: PMIx fences and ssh keys.

#include "gang/exchanged_value.hpp"
#include "modes/ssh_files.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// One node's part of a fence: the data of its ranks; or a rank that has ended, so that the fence never completes.
struct Fence {
  std::string said;
  std::optional<int> absent_rank = {};
};

/// '+' and the data, or '-' and the rank that has ended.
template <>
struct Encoding<Fence> {
  static std::string write(const Fence& fence);
  static Result<Fence> read(std::string_view bytes);
};

/// Concatenates the data of all nodes' ranks by node rank.
struct FenceValue {
  static constexpr const char* kName = "pmix_fence";
  static constexpr gang::Phase kPhase = gang::Phase::WhileRunning;
  static constexpr std::size_t kMostOfNode = std::size_t{16} << 20U;  // a rank contributes some 100 to 1,000 bytes
  static constexpr std::size_t kMostMerged = kMostOfNode;
  using Own = Fence;
  using Agreed = Fence;
  static Result<Fence> merge(const std::vector<Contribution<Fence>>& all);
};

/// Public keys and ports with which mpirun reaches the nodes by ssh, by node rank.
struct SshKeysValue {
  static constexpr const char* kName = "ssh_keys";
  static constexpr gang::Phase kPhase = gang::Phase::WhileRunning;
  static constexpr std::size_t kMostOfNode = std::size_t{8} << 10U;
  static constexpr std::size_t kMostMerged = std::size_t{16} << 20U;
  using Own = mpi::SshNode;
  using Agreed = std::vector<mpi::SshNode>;
  static Result<Agreed> merge(std::vector<Contribution<Own>> all);
};

}  // namespace muster

namespace muster::gang::fields {

template <typename Io>
void describe(Io& io, mpi::SshNode& node) {
  io("name", node.name, kAnyText);
  io("port", node.port, kPort);
  io("key", node.key, kAnyText);
  io("address", node.address, kAnyText);
}

}  // namespace muster::gang::fields
