#pragma once

// Tells whether a name or an address means this machine. Pure: nothing is looked up.

#include "environment/snapshot.hpp"

#include <string_view>

namespace muster {

/// "localhost", or another name that /etc/hosts has for the loopback interface.
[[nodiscard]] bool is_loopback_name(std::string_view host);
/// Such a name, or an address of the loopback network, however it is written.
[[nodiscard]] bool is_loopback(std::string_view host);

/// True for two names of one host: capitals and a dot at the end do not matter, and a short name is the first label of a full one.
[[nodiscard]] bool is_same_name(std::string_view one, std::string_view other);

/// True for one address in two forms, with brackets or without. False where one of the texts is no address.
[[nodiscard]] bool is_same_address(std::string_view one, std::string_view other);

/// `host` is loopback, a name of this machine, or an address of one of its interfaces. "user@" in front does not count.
[[nodiscard]] bool is_this_host(std::string_view host, const Snapshot& snapshot);

}  // namespace muster
