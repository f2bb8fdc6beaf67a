#pragma once

// Reserves the port at which the workers of a job meet, and the ports of workers that other nodes must reach.

#include "base/file_io.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <vector>

namespace muster {

/// A port that no other process gets from the kernel while this object lives. The socket is bound with SO_REUSEADDR
/// and does not listen, so a worker that binds with SO_REUSEADDR (as torch's store, gRPC and Python's servers do) can
/// listen beside it.
class WorkerPort {
 public:
  /// Range of the ports that are told to other nodes, as firewalls and platforms know it.
  static constexpr std::uint16_t kLeast = 5'000;
  static constexpr std::uint16_t kMost = 10'000;

  /// Reserves a port that the kernel chooses.
  [[nodiscard]] static Result<WorkerPort> reserve();

  /// Fails if a process listens at this port, which the user has chosen. The port is not reserved, because its
  /// program may not tolerate another socket there.
  [[nodiscard]] static Result<> check_is_free(std::uint16_t number);

  /// Reserves `count` ports from kLeast to kMost, from a random one on, without those that are in use in either
  /// version of IP. Fails if there are too few.
  [[nodiscard]] static Result<std::vector<WorkerPort>> reserve_several(int count);

  std::uint16_t number() const { return number_; }

 private:
  WorkerPort(UniqueFd socket, std::uint16_t number) : socket_(std::move(socket)), number_(number) {}

  UniqueFd socket_;
  std::uint16_t number_ = 0;
};

}  // namespace muster
