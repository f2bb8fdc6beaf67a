// Signals as something that a loop can wait for.
#include "signal_file.hpp"

#include <boost/system/system_error.hpp>

#include <sys/signalfd.h>

#include <cerrno>

namespace muster {

int open_signal_file(const sigset_t& signals) {
  const int file = ::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  if (file < 0) {
    throw boost::system::system_error(errno, boost::system::system_category(), "signalfd");
  }
  return file;
}

}  // namespace muster
