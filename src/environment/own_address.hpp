#pragma once

#include <string>
#include <vector>

namespace muster {

/// This machine as another one reaches it.
struct LocalEnd {
  std::string address;
  std::string interface;  ///< which has that address, such as eth0; empty: none is known
};

/// The end of the route from here to `host`, if that is an address, else of the one that leaves this
/// network. Nothing is sent, and no name is looked up.
[[nodiscard]] LocalEnd local_end_towards(const std::string& host);

/// The addresses of this host's interfaces, but those of its loopback, as numbers.
[[nodiscard]] std::vector<std::string> local_addresses();

/// The names of those interfaces that are up and have an address, its loopback among them.
[[nodiscard]] std::vector<std::string> local_interfaces();

}  // namespace muster
