#pragma once

// Descriptors that are waited for together.

#include "base/file_io.hpp"
#include "services/torch_store/store_server.hpp"

#include <sys/epoll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace muster {

/// epoll(7), as long as something is ready. Each descriptor has a number of its own, and is forgotten when it is closed.
/// Throws `std::bad_alloc` where the kernel has no memory for it.
class Poller {
 public:
  Poller();

  /// `events`: those of EPOLLIN and so on that are waited for.
  void add(int fd, std::uint64_t number, std::uint32_t events);
  void change(int fd, std::uint64_t number, std::uint32_t events);
  void remove(int fd);

  /// Those that are ready, with their numbers, `most` of them; none: the time is over, or a signal has come. Without a
  /// time it waits for good. The next call takes them back.
  [[nodiscard]] std::span<const epoll_event> ready(std::optional<std::chrono::milliseconds> time, std::size_t most);

 private:
  UniqueFd epoll_;
  std::vector<epoll_event> ready_;
};

// What the process of the store does: it accepts clients, reads what they send and writes what the store answers. Private
// to run/.

/// What it has of the agent's.
struct StoreChannel {
  int listener = -1;
  int agent = -1;  ///< a stream: it tells what store_lines.hpp says, and is asked by a byte
};

/// Serves until the agent is gone, or the process is killed.
void serve_store(const StoreChannel& ends, const StoreJob& job);

}  // namespace muster
