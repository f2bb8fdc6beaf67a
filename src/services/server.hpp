#pragma once

// A port of this node where programs of the job meet a service, such as a store. What services ask for; run/ opens it.

#include "base/result.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// One connection; no other has had the number.
using ClientId = std::uint64_t;

/// What clients do. Called from the event loop, never from within a call of ours.
struct ServerEvents {
  std::function<void(ClientId client, std::string_view bytes)> on_bytes;
  /// It has been held for a moment, and is to be answered now.
  std::function<void(ClientId client)> on_deferred;
  /// It is gone without an answer.
  std::function<void(ClientId client)> on_closed;
};

/// Listens from its birth until it is destroyed. A client is read until it is answered, and is closed then. Only
/// some are read at a time and the others wait for their turn, so that many clients do not hold up the event loop.
class Server {
 public:
  /// The longest that a client is held.
  static constexpr int kPatienceMilliseconds = 250;

  Server() = default;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  virtual ~Server() = default;

  [[nodiscard]] virtual std::uint16_t port() const = 0;
  /// From here on clients are let in from these numeric addresses and from this machine only.
  virtual void admit_only(std::vector<std::string> addresses) = 0;
  /// Sends that, and closes. Nothing happens for a client that is gone.
  virtual void answer(ClientId client, std::string bytes) = 0;
  /// The answer is not known yet: others have their turn.
  virtual void defer(ClientId client) = 0;
};

/// Opens a port that the kernel chooses.
using StartServer = std::function<Result<std::unique_ptr<Server>>(ServerEvents)>;

}  // namespace muster
