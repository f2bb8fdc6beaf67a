#pragma once

// Splits and joins "host:port", and reads numeric addresses.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Default rendezvous port of a job with several nodes, as torchrun's.
inline constexpr int kUsualPort = 29'500;

inline constexpr int kMostPort = 65'535;

/// A host without brackets, and the text of its port.
struct Endpoint {
  std::string host;
  std::optional<std::string> port;
};

/// Splits "host", "host:port", "[address]:port", or an IPv6 address without a port. Checks neither part.
Endpoint split_endpoint(std::string_view text);

/// "host:port", with brackets around an IPv6 address, such as "[fd00::1]:29500".
std::string join_endpoint(const std::string& host, const std::string& port);

/// The bytes of an IPv4 or IPv6 address, so that two spellings compare equal; empty for any other text.
std::optional<std::string> address_bytes(std::string_view text);

/// True for an IPv4 or IPv6 address without brackets, prefix or zone.
bool is_numeric_address(std::string_view text);

/// True for an IPv6 address without brackets, also with a zone: "fe80::1%eth0".
bool is_version_6(std::string_view text);

/// True for a name or an address, without port and brackets. Only addresses have colons. Nothing is looked up.
bool is_host_or_address(std::string_view text);

/// True for a host with two ports, "host:29500:29500". An IPv6 address is none, with a port or without.
bool has_two_ports(std::string_view given);

/// The reason why a text is no host, such as ", not a URL", ", without blanks" or ", not a placeholder"; else empty.
std::string describe_host_mistake(std::string_view text);

/// Removes the brackets of "[fd00::1]"; any other text stays unchanged. The result points into `text`.
std::string_view without_brackets(std::string_view text);

/// The address of a node, and the ports of those of its processes that listen.
struct NodePorts {
  std::string host;                  ///< name or numeric address, without brackets
  std::vector<std::uint16_t> ports;  ///< one per listening process, by local rank
  int slots = 0;                     ///< processes per device of the node
  std::string name = {};             ///< the node's own name for itself

  bool operator==(const NodePorts&) const = default;
};

}  // namespace muster
