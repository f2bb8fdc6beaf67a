#pragma once

// Tells whether a name or an address means this machine. Pure: nothing is looked up.

#include "environment/snapshot.hpp"

#include <string>
#include <string_view>
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

/// Which of its services the C library asks for the addresses of names. A static one would load those that the image's nsswitch.conf
/// names from that image. /etc/hosts and DNS are in it, and are what images have in common.
void choose_name_services();

/// For the calling thread's next look-up: one second for each name server, one try, no TCP, whose connecting has no limit.
void bound_lookup();

}  // namespace muster
