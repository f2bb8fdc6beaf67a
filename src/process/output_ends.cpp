// Makes the pipes and pseudo-terminals of a worker (pipe(7), pty(7), ioctl_tty(2)). Nothing is decided here.
#include "process/output_ends.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

namespace muster {
namespace {

/// Both ends of one stream.
struct Connection {
  UniqueFd ours;
  UniqueFd workers;
};

Result<Connection> make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    if (errno == EMFILE) {
      rlimit limit{};
      (void)::getrlimit(RLIMIT_NOFILE, &limit);
      return Error{ErrorKind::System,
                   "cannot make a pipe: all " + std::to_string(limit.rlim_cur) +
                       " file descriptors are in use; raise the hard limit "
                       "(ulimit -Hn)"};
    }
    return system_error("cannot make a pipe", errno);
  }
  return Connection{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// Nothing is changed on the way: our terminal makes "\r\n" of "\n", and nobody types here.
bool pass_bytes_as_they_are(int terminal) {
  termios settings{};
  if (::tcgetattr(terminal, &settings) != 0) {
    return false;
  }
  settings.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  settings.c_lflag &= ~static_cast<tcflag_t>(ECHO | ECHONL);
  return ::tcsetattr(terminal, TCSANOW, &settings) == 0;
}

/// The worker's side is opened through ours, not by a path: what is mounted at /dev/pts may be of another instance.
Result<Connection> make_terminal() {
  constexpr int kFlags = O_RDWR | O_NOCTTY | O_CLOEXEC;
  Connection connection;
  connection.ours = UniqueFd(::posix_openpt(kFlags));
  int is_locked = 0;
  if (!connection.ours || ::ioctl(connection.ours.get(), TIOCSPTLCK, &is_locked) != 0) {
    return system_error("making a pseudo-terminal", errno);
  }
  connection.workers = UniqueFd(::ioctl(connection.ours.get(), TIOCGPTPEER, kFlags));
  if (!connection.workers || !pass_bytes_as_they_are(connection.workers.get())) {
    return system_error("opening a pseudo-terminal", errno);
  }
  return connection;
}

Result<Connection> connect(bool by_terminal, std::optional<Error>& refusal) {
  if (by_terminal) {
    auto made = make_terminal();
    if (made) {
      return made;
    }
    refusal = made.error();
  }
  return make_pipe();
}

}  // namespace

Result<OutputEnds> make_output_ends(const OutputConnection& way) {
  OutputEnds ends;
  auto error = connect(way.error_is_terminal, ends.refusal);
  if (!error) {
    return error.error();
  }
  ends.ours.error = std::move(error->ours);
  ends.workers.error = std::move(error->workers);
  if (way.is_joined) {
    return ends;
  }
  auto out = connect(way.out_is_terminal, ends.refusal);
  if (!out) {
    return out.error();
  }
  ends.ours.out = std::move(out->ours);
  ends.workers.out = std::move(out->workers);
  return ends;
}

}  // namespace muster
