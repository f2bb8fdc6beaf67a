#pragma once

// The process of the store: its epoll set and its event loop.

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

/// Wraps epoll(7), level-triggered. Each descriptor has a number of its own, and is removed when it is closed. Throws
/// `std::bad_alloc` if the kernel has no memory for it.
class Poller {
 public:
  Poller();

  /// `events`: EPOLLIN and so on.
  void add(int fd, std::uint64_t number, std::uint32_t events);
  void change(int fd, std::uint64_t number, std::uint32_t events);
  void remove(int fd);

  /// Waits, and returns at most `most` ready descriptors by their numbers. Empty: the time is over, or a signal came.
  /// Without a time it waits for ever. Valid until the next call.
  std::span<const epoll_event> ready(std::optional<std::chrono::milliseconds> time, std::size_t most);

 private:
  UniqueFd epoll_;
  std::vector<epoll_event> ready_;
};

// Accepts clients, reads their requests and writes the store's answers. Private to services/.

/// Descriptors that the process inherits from the agent.
struct StoreChannel {
  int listener = -1;
  int agent = -1;  ///< a stream: to the agent frames of store_process.hpp, from the agent a byte for each request
};

/// Serves until the agent is gone, or this process is killed.
void serve_store(const StoreChannel& ends, const StoreJob& job);

}  // namespace muster
