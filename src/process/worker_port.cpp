// Reserves ports by sockets that are bound and never listen.
#include "process/worker_port.hpp"

#include "base/random.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <utility>

namespace muster {
namespace {

/// The wildcard address of a family with a port; 0: the kernel chooses one.
struct AnyAddress {
  explicit AnyAddress(int family, std::uint16_t port = 0)
      : size(family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6)) {
    storage.ss_family = static_cast<sa_family_t>(family);            // both wildcard addresses are all zero
    reinterpret_cast<sockaddr_in&>(storage).sin_port = htons(port);  // NOLINT: sin6_port is at the same place
  }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }  // NOLINT: the socket API

  sockaddr_storage storage{};
  socklen_t size;
};

/// Binds this port for both versions of IP, or for version 4 where the host has no other. Empty: the port is in use.
///
/// Sockets with SO_REUSEADDR do not exclude each other as long as none listens, so ours gets the option once it has
/// the port: other reservations are noticed, and a worker can still bind the port.
Result<UniqueFd> take_port(std::uint16_t port) {
  const int on = 1;
  const int off = 0;
  int error_number = 0;
  for (const int family : {AF_INET6, AF_INET}) {
    AnyAddress any(family, port);
    UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (socket && family == AF_INET6) {
      (void)::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (socket && ::bind(socket.get(), any.get(), any.size) == 0 &&
        ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0) {
      return socket;
    }
    error_number = errno;
    if (error_number == EADDRINUSE || error_number == EACCES) {
      return UniqueFd();
    }
  }
  return system_error("cannot reserve ports for the workers", error_number);
}

}  // namespace

Result<WorkerPort> WorkerPort::reserve() {
  int error_number = 0;
  for (const int family : {AF_INET, AF_INET6}) {  // some hosts have only version 6
    UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    AnyAddress any(family);
    if (socket && ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        ::bind(socket.get(), any.get(), any.size) == 0 && ::getsockname(socket.get(), any.get(), &any.size) == 0) {
      const auto& bound = reinterpret_cast<const sockaddr_in&>(any.storage);  // NOLINT: sin6_port is at the same place
      return WorkerPort(std::move(socket), ntohs(bound.sin_port));
    }
    error_number = errno;
  }
  return system_error("cannot reserve a port for the workers", error_number);
}

Result<> WorkerPort::check_is_free(std::uint16_t number) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  AnyAddress any(AF_INET, number);
  const bool is_free = !socket || ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
                       ::bind(socket.get(), any.get(), any.size) == 0;
  return is_free
             ? Result<>()
             : system_error("the workers may not be able to meet at port " + std::to_string(number) + " of this node",
                            errno);
}

Result<std::vector<WorkerPort>> WorkerPort::reserve_several(int count) {
  constexpr std::uint32_t kRange = kMost - kLeast + 1U;
  std::vector<WorkerPort> ports;
  if (count <= 0) {
    return ports;
  }
  const auto first = static_cast<std::uint32_t>(TRY(random_number()) % kRange);
  for (std::uint32_t i = 0; i < kRange && ports.size() < static_cast<std::size_t>(count); ++i) {
    const auto port = static_cast<std::uint16_t>(kLeast + (first + i) % kRange);
    auto socket = TRY(take_port(port));
    if (socket) {
      ports.push_back(WorkerPort(std::move(socket), port));
    }
  }
  if (ports.size() < static_cast<std::size_t>(count)) {
    return Error{ErrorKind::System, "cannot reserve " + std::to_string(count) + " ports for the workers: only " +
                                        std::to_string(ports.size()) + " from " + std::to_string(kLeast) + " to " +
                                        std::to_string(kMost) + " are free"};
  }
  return ports;
}

}  // namespace muster
