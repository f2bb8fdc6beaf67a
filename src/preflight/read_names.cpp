// Resolves names as the workers do, but only by /etc/hosts and DNS.
#include "preflight/read_names.hpp"

#include "base/text.hpp"
#include "environment/local_host.hpp"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>

namespace muster::preflight {
namespace {

using Found = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// Addresses that a node of many may have: each may cost a look-up.
constexpr std::size_t kMostAddresses = 4;

Found look_up(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const bool is_found = ::getaddrinfo(host.c_str(), nullptr, &hints, &first) == 0;
  return {is_found ? first : nullptr, &::freeaddrinfo};
}

/// `flags` of getnameinfo(3). Empty: it has no name.
std::string text_of(const addrinfo& at, int flags) {
  std::array<char, NI_MAXHOST> text{};
  const int failed = ::getnameinfo(at.ai_addr, at.ai_addrlen, text.data(), text.size(), nullptr, 0, flags);
  return failed == 0 ? text.data() : "";
}

std::vector<std::string> texts_of(const Found& found, int flags) {
  std::vector<std::string> texts;
  for (const addrinfo* at = found.get(); at != nullptr && texts.size() < kMostAddresses; at = at->ai_next) {
    texts.push_back(text_of(*at, flags));
  }
  return texts;
}

}  // namespace

std::string describe_leader(const std::vector<std::string>& addresses, const std::vector<std::string>& own_addresses) {
  std::vector<std::string> shown;
  const bool has_short =
      std::ranges::any_of(addresses, [](const auto& one) { return one.find(':') == std::string::npos; });
  for (const std::string& address : addresses) {
    if (is_loopback(address) || contains(own_addresses, address)) {
      return std::string(kNotKnown);
    }
    if (!has_short || address.find(':') == std::string::npos) {
      shown.push_back(address);
    }
  }
  std::ranges::sort(shown);
  return shown.empty() ? "no address" : join(shown, " ");
}

std::string describe_own(const std::string& own, const std::vector<std::string>& addresses,
                         const std::vector<std::string>& names) {
  if (addresses.empty()) {
    return "no address";
  }
  const bool is_known = std::ranges::any_of(addresses, [](const auto& one) { return is_loopback(one); }) ||
                        std::ranges::any_of(names, [&](const auto& name) { return is_same_name(name, own); });
  const bool has_name = std::ranges::any_of(names, [](const auto& name) { return !name.empty(); });
  return is_known ? "resolves" : has_name ? "address of another name" : "address without a name";
}

Facts read_names(const std::string& leader, const std::string& own) {
  choose_name_services();
  bound_lookup();
  Facts facts;
  if (!leader.empty() && !is_same_address(leader, leader)) {
    facts.texts["leader's name"] = describe_leader(texts_of(look_up(leader), NI_NUMERICHOST), local_addresses());
  }
  const Found found = look_up(own);
  const std::vector<std::string> addresses = texts_of(found, NI_NUMERICHOST);
  const bool is_local = std::ranges::any_of(addresses, [](const auto& one) { return is_loopback(one); });
  facts.texts["own name"] =
      describe_own(own, addresses, is_local ? std::vector<std::string>() : texts_of(found, NI_NAMEREQD));
  return facts;
}

}  // namespace muster::preflight
