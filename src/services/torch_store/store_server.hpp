#pragma once

// Interface of PyTorch's store, where the ranks meet. The service uses it; store_process.cpp runs the store in a
// process of its own.

#include "base/result.hpp"
#include "services/torch_store/store_values.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace muster {

/// Clients of the store.
struct StoreJob {
  std::size_t workers = 1;             ///< of the attempt, on all nodes
  std::vector<std::string> addresses;  ///< numeric addresses that may connect, in addition to this machine's
};

/// Progress of the ranks in init_process_group.
struct StoreStatus {
  std::size_t init_barrier = 0;  ///< number of the rendezvous, from 0
  std::size_t expected = 0;      ///< ranks
  bool is_complete = false;      ///< all have arrived
  std::vector<store::Process> arrived =
      {};  ///< one for each rank, if that was requested; empty: a rendezvous has begun or is complete
};

/// Called from the event loop, never from within a call to the server.
struct StoreEvents {
  std::function<void(const StoreStatus&)> on_status;
  /// The store has ended.
  std::function<void(const Error&)> on_failure;
};

/// Runs one store at a time: that of an attempt ends when the next attempt listens, or with the job. It may outlive
/// the workers of this node, because those of other nodes go on.
class StoreServer {
 public:
  StoreServer() = default;
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;
  virtual ~StoreServer() = default;

  /// Listens at every address, beside the socket that has the port reserved. Clients wait until `serve`.
  [[nodiscard]] virtual Result<> listen(std::uint16_t port) = 0;
  /// Serves with an empty store from now on. Its process is forked when the first client connects.
  virtual void serve(StoreJob job, StoreEvents events) = 0;
  /// After this delay, unless all ranks have arrived by then, `on_status` tells which ones have.
  virtual void request_status_after(std::chrono::seconds delay) = 0;
  /// Calls no function of `StoreEvents` any more; the store goes on.
  virtual void forget_events() = 0;
};

}  // namespace muster
