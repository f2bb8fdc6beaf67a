// Finds the local end of a route by connecting a UDP socket without sending, lists the interfaces, and compares names
// and addresses.
#include "environment/local_host.hpp"

#include "base/endpoint.hpp"
#include "base/file_io.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <nss.h>
#include <resolv.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <set>

namespace muster {
namespace {

constexpr const char* kLoopback = "127.0.0.1";

/// An address reserved for documentation: no host has it, and it lies behind the default route.
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

/// Calls `visit` with each address of each interface, for as long as it returns true.
template <typename Visit>
void for_each_interface(const Visit& visit) {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) {
    return;
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(first, &::freeifaddrs);
  for (const ifaddrs* at = first; at != nullptr && visit(*at); at = at->ifa_next) {
  }
}

/// The numeric address; empty for other families.
std::string text_of(const sockaddr& address) {
  const socklen_t size = address.sa_family == AF_INET    ? sizeof(sockaddr_in)
                         : address.sa_family == AF_INET6 ? sizeof(sockaddr_in6)
                                                         : 0;
  std::array<char, NI_MAXHOST> text{};
  const bool is_known = ::getnameinfo(&address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0;
  return is_known ? text.data() : "";
}

/// The interface with this address. Some hosts have an address on their loopback interface that others reach by
/// several routes: then the result is empty.
std::string interface_of(const std::string& own) {
  std::string name;
  for_each_interface([&](const ifaddrs& at) {
    const bool is_of_loopback = (at.ifa_flags & IFF_LOOPBACK) != 0;
    if (is_of_loopback == is_loopback(own) &&
        (is_of_loopback || (at.ifa_addr != nullptr && text_of(*at.ifa_addr) == own))) {
      name = at.ifa_name;
    }
    return name.empty();
  });
  return name;
}

/// Local address of a datagram to `there`.
LocalEnd end_of_route(const addrinfo& there) {
  const UniqueFd socket(::socket(there.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  auto* const address = reinterpret_cast<sockaddr*>(&own);
  const bool is_known = socket.get() >= 0 && ::connect(socket.get(), there.ai_addr, there.ai_addrlen) == 0 &&
                        ::getsockname(socket.get(), address, &size) == 0;
  const std::string text = is_known ? text_of(*address) : "";
  return text.empty() ? LocalEnd{kLoopback, ""} : LocalEnd{text, interface_of(text)};
}

}  // namespace

LocalEnd local_end_towards(const std::string& host) {
  Addresses there = read_address(host.c_str());
  if (!there) {
    there = read_address(kFarAway);
  }
  return there ? end_of_route(*there) : LocalEnd{kLoopback, ""};
}

std::vector<std::string> local_addresses() {
  std::vector<std::string> addresses;
  for_each_interface([&](const ifaddrs& at) {
    const bool has_address = at.ifa_addr != nullptr && (at.ifa_flags & IFF_LOOPBACK) == 0;
    const std::string text = has_address ? text_of(*at.ifa_addr) : "";
    if (!text.empty() && text.find('%') == std::string::npos) {  // with a zone, the address has a meaning only here
      addresses.push_back(text);
    }
    return true;
  });
  return addresses;
}

std::vector<std::string> local_interfaces() {
  std::set<std::string> names;
  for_each_interface([&](const ifaddrs& at) {
    const int family = at.ifa_addr != nullptr ? at.ifa_addr->sa_family : AF_UNSPEC;
    if ((at.ifa_flags & IFF_UP) != 0 && (family == AF_INET || family == AF_INET6)) {
      names.insert(at.ifa_name);
    }
    return true;
  });
  return {names.begin(), names.end()};
}

// Compares names and addresses as text, with those of this machine from the snapshot.

namespace {

/// Names of loopback in /etc/hosts of Debian and Red Hat.
constexpr auto kLoopbackNames = std::to_array<std::string_view>(
    {"localhost", "localhost.localdomain", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback"});

/// Parses an address as IPv6; IPv4 addresses are mapped. Ignores the zone of "fe80::1%eth0".
std::optional<in6_addr> parse_address(std::string_view host) {
  const std::string_view bare = without_brackets(host);
  const std::string text(bare.substr(0, bare.find('%')));
  in6_addr six{};
  if (::inet_pton(AF_INET6, text.c_str(), &six) == 1) {
    return six;
  }
  const std::string mapped = "::ffff:" + text;
  const bool is_four = text.find('.') != std::string::npos;  // a host may be called "b", which is hexadecimal
  return is_four && ::inet_pton(AF_INET6, mapped.c_str(), &six) == 1 ? std::optional(six) : std::nullopt;
}

bool is_loopback(const in6_addr& address) {
  constexpr std::size_t kFirstOfFour = 12;
  return IN6_IS_ADDR_LOOPBACK(&address) ||
         (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[kFirstOfFour] == IN_LOOPBACKNET);
}

std::string plain_name(std::string_view name) {
  return lower_case(std::string(name.ends_with('.') ? name.substr(0, name.size() - 1) : name));
}

}  // namespace

bool is_loopback_name(std::string_view host) {
  const std::string name = plain_name(host);
  return name.ends_with(".localhost") || contains(kLoopbackNames, name);
}

bool is_loopback(std::string_view host) {
  const auto address = parse_address(host);
  return address ? is_loopback(*address) : is_loopback_name(host);
}

bool is_same_name(std::string_view one, std::string_view other) {
  if (parse_address(one) || parse_address(other)) {
    return false;
  }
  const std::string left = plain_name(one);
  const std::string right = plain_name(other);
  const std::string& shorter = left.size() < right.size() ? left : right;
  const std::string& longer = left.size() < right.size() ? right : left;
  const bool is_short = shorter.find('.') == std::string::npos;
  return !shorter.empty() && (left == right || (is_short && longer.starts_with(shorter + ".")));
}

bool is_same_address(std::string_view one, std::string_view other) {
  const auto left = parse_address(one);
  const auto right = parse_address(other);
  return left && right && std::memcmp(&*left, &*right, sizeof *left) == 0;
}

bool is_this_host(std::string_view host, const Snapshot& snapshot) {
  const std::string_view bare = host.substr(host.rfind('@') + 1);  // the whole text without '@'
  if (!parse_address(bare)) {
    return is_loopback(bare) || is_same_name(bare, snapshot.host_name);
  }
  const auto& own = snapshot.addresses.get();
  return is_loopback(bare) ||
         std::ranges::any_of(own, [&](const std::string& address) { return is_same_address(address, bare); });
}

// Restricts getaddrinfo(3) to services that every image has, and limits its time.

void choose_name_services() {
  static const bool is_chosen = ::__nss_configure_lookup("hosts", "files dns") == 0;
  (void)is_chosen;  // out of memory: the image's services stay
}

/// Initialises the resolver here, because reading resolv.conf by the look-up itself (RES_NORELOAD) would drop these
/// settings.
void bound_lookup() {
  if (::res_init() == 0) {
    _res.retrans = 1;
    _res.retry = 1;
    _res.options |= RES_IGNTC | RES_NORELOAD;
  }
}

}  // namespace muster
