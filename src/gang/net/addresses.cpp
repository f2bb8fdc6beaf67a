// Addresses of the other ends of links: see the header.
#include "gang/net/addresses.hpp"

#include <boost/asio/ip/network_v6.hpp>

namespace muster::gang {

using boost::asio::ip::address;

address unmapped(const address& mapped) {
  return mapped.is_v6() && mapped.to_v6().is_v4_mapped()
             ? address(boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, mapped.to_v6()))
             : mapped;
}

std::string neighbourhood_of(const address& peer) {
  constexpr unsigned short kHalf = 64;
  return peer.is_v6()
             ? boost::asio::ip::make_network_v6(peer.to_v6(), kHalf).canonical().to_string()
             : peer.to_string();
}

}  // namespace muster::gang
