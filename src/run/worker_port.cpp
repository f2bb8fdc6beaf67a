// Bound, never listening: see the header.
#include "worker_port.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

namespace muster {
namespace {

/// The wildcard address of a family with port 0: the kernel chooses.
struct AnyAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
};

AnyAddress any_address(int family) {
  AnyAddress any;
  any.storage.ss_family = static_cast<sa_family_t>(family);
  any.size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  return any;  // both wildcard addresses and port 0 are all zero
}

std::uint16_t port_of(const sockaddr_storage& address) {
  // sin_port and sin6_port are at the same place.
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);  // NOLINT
}

}  // namespace

Result<WorkerPort> WorkerPort::reserve() {
  int error_number = 0;
  for (const int family : {AF_INET, AF_INET6}) {  // some hosts have only version 6
    UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int on = 1;
    AnyAddress any = any_address(family);
    auto* const address = reinterpret_cast<sockaddr*>(&any.storage);  // NOLINT: the socket API
    if (socket && ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        ::bind(socket.get(), address, any.size) == 0 &&
        ::getsockname(socket.get(), address, &any.size) == 0) {
      return WorkerPort(std::move(socket), port_of(any.storage));
    }
    error_number = errno;
  }
  return system_error("cannot reserve a port for the workers", error_number);
}

}  // namespace muster
