#pragma once

// Reserves the port at which the workers of one node meet, and those at which workers listen that
// others must find.

#include "base/file_io.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <vector>

namespace muster {

/// A port that nobody else gets while this object lives. The socket is bound with SO_REUSEADDR and
/// does not listen, so a worker that binds with SO_REUSEADDR (as torch's store, gRPC and Python's
/// servers do) can listen beside it.
class WorkerPort {
 public:
  /// Ports that are told to other nodes are in this range, as firewalls and platforms know it.
  static constexpr std::uint16_t kLeast = 5'000;
  static constexpr std::uint16_t kMost = 10'000;

  /// One that the kernel chooses.
  [[nodiscard]] static Result<WorkerPort> reserve();

  /// Fails when somebody listens at the port that the user has chosen. It is not reserved, since it may
  /// be that of a program that tolerates nobody beside it.
  [[nodiscard]] static Result<> check_is_free(std::uint16_t number);

  /// So many from kLeast to kMost, from a random one on, without those that somebody has in either
  /// version of IP. Fails when there are too few.
  [[nodiscard]] static Result<std::vector<WorkerPort>> reserve_several(int count);

  [[nodiscard]] std::uint16_t number() const { return number_; }

 private:
  WorkerPort(UniqueFd socket, std::uint16_t number) : socket_(std::move(socket)), number_(number) {}

  UniqueFd socket_;
  std::uint16_t number_ = 0;
};

}  // namespace muster
