#pragma once

// Makes two connected sockets, for this process and a process that it starts.

#include "base/file_io.hpp"
#include "base/result.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace muster {

struct SocketPair {
  UniqueFd ours;
  UniqueFd theirs;
};

/// Makes both ends close-on-exec. Fails with `System`.
[[nodiscard]] inline Result<SocketPair> make_socket_pair() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return system_error("cannot make a pair of sockets", errno);
  }
  return SocketPair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace muster
