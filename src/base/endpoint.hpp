#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Where the agents of several nodes meet if nobody says otherwise: torchrun's default as well.
inline constexpr int kUsualPort = 29'500;

/// A host, without brackets, and what was written as its port.
struct Endpoint {
  std::string host;
  std::optional<std::string> port;
};

/// Splits "host", "host:port", "[address]:port", or the address of a version 6 host without a port.
/// Neither part is checked.
[[nodiscard]] Endpoint split_endpoint(std::string_view text);

/// "host:port", with brackets around an address of version 6, such as "[fd00::1]:29500".
[[nodiscard]] std::string join_endpoint(const std::string& host, const std::string& port);

/// An address of version 4 or 6 as its bytes, so that two spellings are one; empty: it is none.
[[nodiscard]] std::optional<std::string> address_bytes(std::string_view text);

/// True for an address of version 4 or 6, without brackets: no name, no prefix, no zone.
[[nodiscard]] bool is_numeric_address(std::string_view text);

/// ", not a URL", ", without blanks" or ", without invisible characters", where that is why a text is no host. Empty: none of these.
[[nodiscard]] std::string describe_host_mistake(std::string_view text);

/// "[fd00::1]" as "fd00::1"; any other text as it is. A part of `text`.
[[nodiscard]] std::string_view without_brackets(std::string_view text);

/// Where the processes of one node can be reached that listen on ports of their own.
struct NodePorts {
  std::string host;                  ///< name or numeric address, without brackets
  std::vector<std::uint16_t> ports;  ///< one for each process that listens, by local rank
  int slots = 0;                     ///< of the node: how many processes per device it has
  std::string name = {};             ///< as the node itself says it

  bool operator==(const NodePorts&) const = default;
};

}  // namespace muster
