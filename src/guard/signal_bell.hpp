#pragma once

// Hearing of another process's signals. Private to run/.

#include "base/unique_fd.hpp"

#include <set>

namespace muster {

/// Rings in a child of this process whenever a signal is sent to this one, be it stopped or not, without that
/// anybody looks in between. Where the system refuses a descriptor it never rings.
///
/// epoll(7) knows whose signals a descriptor of signalfd(2) was added for: those of the process that added it,
/// whoever waits. Whether there is something to read, though, is asked of who waits. So a child keeps a signal of
/// its own for ever.
struct GuardSignalNotifier {
  UniqueFd signals;   ///< has to stay open
  UniqueFd notifier;  ///< readable in a child that listens, once for each time that it rings

  /// In the process whose signals are meant, before it forks.
  [[nodiscard]] static GuardSignalNotifier of_this_process(const std::set<int>& signals);
  /// In the child: from here on it hears. SIGXFSZ, which is blocked, stays pending.
  static void listen();
  /// So that the bell can ring again.
  static void silence(int notifier);
};

}  // namespace muster
