#pragma once

// Reserves the port at which the workers of one node meet. Private to run/.

#include <muster/base/result.hpp>
#include <muster/base/unique_fd.hpp>

#include <cstdint>

namespace muster {

/// A port that the kernel gave us and gives to nobody else while this object lives. The socket is
/// bound with SO_REUSEADDR and does not listen, so a worker that binds with SO_REUSEADDR (as
/// torch's store, gRPC and Python's servers do) can listen beside it.
class WorkerPort {
 public:
  [[nodiscard]] static Result<WorkerPort> reserve();
  [[nodiscard]] std::uint16_t number() const { return number_; }

 private:
  WorkerPort(UniqueFd socket, std::uint16_t number) : socket_(std::move(socket)), number_(number) {}

  UniqueFd socket_;
  std::uint16_t number_ = 0;
};

}  // namespace muster
