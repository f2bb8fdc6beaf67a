// Addresses are compared as numbers: names are never looked up.
#include "services/admission.hpp"

namespace muster {
namespace {

using Address = boost::asio::ip::address;
using ErrorCode = boost::system::error_code;

constexpr std::size_t kMostRemarks = 16;
constexpr const char* kThisMachine = "127.0.0.1";

/// An address of version 4 may come in the clothes of version 6.
Address plain(const Address& address) {
  const bool is_mapped = address.is_v6() && address.to_v6().is_v4_mapped();
  return is_mapped ? Address(boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped,
                                                              address.to_v6()))
                   : address;
}

/// Of this end of a connection; not specified where there is none.
Address local_address(int fd) {
  boost::asio::ip::tcp::endpoint own;
  auto size = static_cast<socklen_t>(own.capacity());
  return ::getsockname(fd, own.data(), &size) == 0 ? plain(own.address()) : Address();
}

}  // namespace

std::string peer_of(boost::asio::ip::tcp::socket& socket) {
  ErrorCode error;
  const auto remote = socket.remote_endpoint(error);
  return error ? std::string() : peer_of(socket.native_handle(), remote);
}

std::string peer_of(int fd, const boost::asio::ip::tcp::endpoint& remote) {
  const Address peer = plain(remote.address());
  return peer.is_loopback() || peer == local_address(fd) ? kThisMachine : peer.to_string();
}

void IpAllowList::admit_only(const std::vector<std::string>& addresses) {
  is_open_ = false;
  admitted_ = {kThisMachine};
  for (const std::string& address : addresses) {
    ErrorCode error;
    const Address numeric = boost::asio::ip::make_address(address, error);
    if (!error) {
      admitted_.insert(plain(numeric).to_string());
    }
  }
}

bool IpAllowList::admits(const std::string& peer) {
  const bool is_admitted = !peer.empty() && (is_open_ || admitted_.contains(peer));
  if (!is_admitted && !peer.empty()) {
    remark(peer);
  }
  return is_admitted;
}

void IpAllowList::remark(const std::string& peer) {
  if (refused_.size() < kMostRemarks && refused_.insert(peer).second && on_remark) {
    on_remark("a connection from " + peer + " was refused: no node of the job has this address");
  }
}

}  // namespace muster
