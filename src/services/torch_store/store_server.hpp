#pragma once

// The store by which the ranks of PyTorch meet, in a process of its own. What the service asks for; run/ has it.

#include "base/result.hpp"
#include "services/torch_store/store.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace muster {

/// Whom it serves.
struct StoreJob {
  std::size_t workers = 1;             ///< of the attempt, on all nodes
  std::vector<std::string> addresses;  ///< numeric: who may connect, beside this machine
};

/// How far the ranks have come.
struct StoreStatus {
  std::size_t init_barrier = 0;  ///< counts the times that they have come together, from 0
  std::size_t expected = 0;      ///< ranks
  bool is_complete = false;      ///< all have
  std::vector<store::Process> arrived =
      {};  ///< a rank each, where that was asked for; empty: a meeting has begun or is complete
};

/// Called from the event loop, never from within a call of ours.
struct StoreEvents {
  std::function<void(const StoreStatus&)> on_news;
  /// It serves nobody any more.
  std::function<void(const Error&)> on_failure;
};

/// One at a time: the store of an attempt ends when the next one listens, or with the job. It may serve longer than the
/// workers of this node live, since those of others go on.
class StoreServer {
 public:
  StoreServer() = default;
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;
  virtual ~StoreServer() = default;

  /// At every address of this machine, beside who has reserved the port. Who connects waits until it serves.
  [[nodiscard]] virtual Result<> listen(std::uint16_t port) = 0;
  /// From now on, with an empty store. Its process is made when somebody connects.
  virtual void serve(StoreJob job, StoreEvents events) = 0;
  /// So long from now `on_news` says who has arrived, unless all have.
  virtual void request_later(std::chrono::seconds delay) = 0;
  /// Nothing is told any more; it goes on.
  virtual void forget_events() = 0;
};

}  // namespace muster
