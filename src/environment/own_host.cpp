// Names and addresses as text, and those of this machine as the snapshot has them.
#include "base/endpoint.hpp"
#include "environment/own_host.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

namespace muster {
namespace {

/// Names of loopback in /etc/hosts of Debian and Red Hat.
constexpr auto kLoopbackNames = std::to_array<std::string_view>({"localhost",
                                                                 "localhost.localdomain",
                                                                 "localhost4",
                                                                 "localhost6",
                                                                 "ip6-localhost",
                                                                 "ip6-loopback"});

/// As version 6 has it, those of version 4 mapped. The zone of "fe80::1%eth0" is left out.
std::optional<in6_addr> parse_address(std::string_view host) {
  const std::string_view bare = without_brackets(host);
  const std::string text(bare.substr(0, bare.find('%')));
  in6_addr six{};
  if (::inet_pton(AF_INET6, text.c_str(), &six) == 1) {
    return six;
  }
  const std::string mapped = "::ffff:" + text;
  const bool is_four =
      text.find('.') != std::string::npos;  // a host may be called "b", which is hexadecimal
  return is_four && ::inet_pton(AF_INET6, mapped.c_str(), &six) == 1 ? std::optional(six)
                                                                     : std::nullopt;
}

bool is_loopback(const in6_addr& address) {
  constexpr std::size_t kFirstOfFour = 12;
  return IN6_IS_ADDR_LOOPBACK(&address) ||
         (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[kFirstOfFour] == IN_LOOPBACKNET);
}

std::string plain_name(std::string_view name) {
  std::string plain(name.ends_with('.') ? name.substr(0, name.size() - 1) : name);
  std::transform(plain.begin(), plain.end(), plain.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return plain;
}

}  // namespace

bool is_loopback_name(std::string_view host) {
  const std::string name = plain_name(host);
  return name.ends_with(".localhost") ||
         std::find(kLoopbackNames.begin(), kLoopbackNames.end(), name) != kLoopbackNames.end();
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
  const std::string_view bare = host.substr(host.rfind('@') + 1);  // all of it where there is none
  if (!parse_address(bare)) {
    return is_loopback(bare) || is_same_name(bare, snapshot.host_name);
  }
  const auto& own = snapshot.addresses.get();
  return is_loopback(bare) || std::any_of(own.begin(), own.end(), [&](const std::string& address) {
           return is_same_address(address, bare);
         });
}

}  // namespace muster
