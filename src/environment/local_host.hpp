#pragma once

// Tells whether a name or an address means this machine, lists its interfaces, and bounds name look-ups.

#include "environment/snapshot.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// The local end of a route.
struct LocalEnd {
  std::string address;
  std::string interface;  ///< the interface with that address, such as eth0; empty: unknown
};

/// Local end of the route to `host` if that is an address, else of the route that leaves this network. Sends nothing
/// and looks up no name.
LocalEnd local_end_towards(const std::string& host);

/// Numeric addresses of this host's interfaces, without loopback.
std::vector<std::string> local_addresses();

/// Names of the interfaces that are up and have an address, including loopback.
std::vector<std::string> local_interfaces();

/// "localhost", or another name that /etc/hosts has for the loopback interface.
bool is_loopback_name(std::string_view host);
/// True for a loopback name, and for an address of the loopback network in any notation.
bool is_loopback(std::string_view host);

/// True for two names of one host: case and a final dot are ignored, and a short name equals the first label of a
/// full one.
bool is_same_name(std::string_view one, std::string_view other);

/// True for one address in two notations, with brackets or without. False where either text is no address.
bool is_same_address(std::string_view one, std::string_view other);

/// True when `host` is loopback, a name of this machine, or an address of one of its interfaces. A leading "user@" is
/// ignored.
bool is_this_host(std::string_view host, const Snapshot& snapshot);

/// Restricts the C library's name services to /etc/hosts and DNS. A static C library contains these two; any other
/// service in the image's nsswitch.conf would be loaded from that image.
void choose_name_services();

/// Limits the calling thread's next look-up to one second for each name server and one try. TCP is not used, because
/// connect has no timeout.
void bound_lookup();

}  // namespace muster
