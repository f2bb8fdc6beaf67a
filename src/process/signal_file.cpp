// Signals as something that a loop can wait for.
#include "process/signal_file.hpp"

#include <boost/system/system_error.hpp>

#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace muster {

int open_signalfd(const sigset_t& signals) {
  const int file = ::signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  if (file < 0) {
    throw boost::system::system_error(errno, boost::system::system_category(), "signalfd");
  }
  return file;
}

std::vector<int> read_signals(int file) {
  std::array<signalfd_siginfo, NSIG> pending{};
  const ssize_t size = ::read(file, pending.data(), sizeof pending);
  const auto count = size > 0 ? static_cast<std::size_t>(size) / sizeof pending[0] : 0;
  std::vector<int> signals;
  for (std::size_t i = 0; i < count; ++i) {
    signals.push_back(static_cast<int>(pending[i].ssi_signo));
  }
  return signals;
}

}  // namespace muster
