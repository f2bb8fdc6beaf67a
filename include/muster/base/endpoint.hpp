#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// A host, without brackets, and what was written as its port.
struct Endpoint {
  std::string host;
  std::optional<std::string> port;
};

/// Splits "host", "host:port", "[address]:port", or the address of a version 6 host without a port.
/// Neither part is checked.
[[nodiscard]] Endpoint split_endpoint(std::string_view text);

}  // namespace muster
