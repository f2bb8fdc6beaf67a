#pragma once

// Addresses of the other ends of links.

#include <boost/asio/ip/address.hpp>

#include <string>

namespace muster::gang {

/// Version 4 as such where it came mapped into version 6.
[[nodiscard]] boost::asio::ip::address unmapped(const boost::asio::ip::address& mapped);

/// What one owner has as a rule: the address itself; for version 6 all that have the same first half.
[[nodiscard]] std::string neighbourhood_of(const boost::asio::ip::address& peer);

}  // namespace muster::gang
