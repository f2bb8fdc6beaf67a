// Claims abstract socket names (unix(7)).
#include "process/claimed_name.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>

namespace muster {

bool claim_name(const std::string& name, UniqueFd& claim) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);  // after a zero byte: no file
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  claim = UniqueFd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto* const place = reinterpret_cast<const sockaddr*>(&address);  // NOLINT: the socket API
  return ::bind(claim.get(), place, size) == 0 || errno != EADDRINUSE;
}

}  // namespace muster
