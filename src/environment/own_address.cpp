// Asks the kernel which address a datagram would have, by connecting a socket that sends none.
#include <muster/base/unique_fd.hpp>
#include <muster/environment/own_address.hpp>

#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <memory>

namespace muster {
namespace {

constexpr const char* kLoopback = "127.0.0.1";

/// An address that is reserved for documentation: it is nobody's, and lies behind the default route.
constexpr const char* kFarAway = "192.0.2.1";

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses read_address(const char* host) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const bool is_address = ::getaddrinfo(host, "1", &hints, &found) == 0;
  return {is_address ? found : nullptr, &::freeaddrinfo};
}

}  // namespace

std::string own_address_towards(const std::string& host) {
  Addresses there = read_address(host.c_str());
  if (!there) {
    there = read_address(kFarAway);
  }
  if (!there) {
    return kLoopback;
  }
  const UniqueFd socket(::socket(there->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  auto* const address = reinterpret_cast<sockaddr*>(&own);
  std::array<char, NI_MAXHOST> text{};
  const bool is_known =
      socket.get() >= 0 && ::connect(socket.get(), there->ai_addr, there->ai_addrlen) == 0 &&
      ::getsockname(socket.get(), address, &size) == 0 &&
      ::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0;
  return is_known ? text.data() : kLoopback;
}

}  // namespace muster
