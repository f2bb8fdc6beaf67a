#pragma once

#include <string>

namespace muster {

/// The address of this machine from which it would reach `host`, if that is an address, else from
/// which it would leave its network. Nothing is sent, and no name is looked up.
[[nodiscard]] std::string own_address_towards(const std::string& host);

}  // namespace muster
