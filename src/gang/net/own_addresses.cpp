// Which addresses are this machine's.
#include "gang/net/dialer.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace muster::gang {
namespace {

using boost::asio::ip::address;

std::optional<address> address_of(const sockaddr* from) {
  if (from != nullptr && from->sa_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, from, sizeof four);
    return boost::asio::ip::address_v4(ntohl(four.sin_addr.s_addr));
  }
  if (from != nullptr && from->sa_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, from, sizeof six);
    boost::asio::ip::address_v6::bytes_type bytes{};
    std::memcpy(bytes.data(), &six.sin6_addr, bytes.size());
    return boost::asio::ip::address_v6(bytes, six.sin6_scope_id);
  }
  return std::nullopt;
}

/// One form for each address: version 4 unmapped, version 6 without its interface.
address plain(const address& given) {
  if (!given.is_v6()) {
    return given;
  }
  const boost::asio::ip::address_v6 six = given.to_v6();
  if (six.is_v4_mapped()) {
    return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, six);
  }
  return boost::asio::ip::address_v6(six.to_bytes());
}

}  // namespace

std::vector<address> local_addresses() {
  std::vector<address> addresses;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) {
    return addresses;
  }
  for (const ifaddrs* at = first; at != nullptr; at = at->ifa_next) {
    const auto found = address_of(at->ifa_addr);
    if (found && (at->ifa_flags & IFF_UP) != 0) {
      addresses.push_back(*found);
    }
  }
  ::freeifaddrs(first);
  return addresses;
}

bool is_own(const address& given) {
  const address wanted = plain(given);
  if (wanted.is_loopback()) {
    return true;
  }
  const std::vector<address> own = local_addresses();
  return std::any_of(
      own.begin(), own.end(), [&](const address& one) { return plain(one) == wanted; });
}

}  // namespace muster::gang
