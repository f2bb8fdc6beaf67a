#pragma once

// A program of muster's own that serves the workers of this node, such as the PMIx server. What services ask for;
// run/ starts it.

#include "base/result.hpp"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct SidecarRequest {
  std::string executable;                               ///< its path
  std::vector<std::string> argv;                        ///< with its name
  std::map<std::string, std::string> environment = {};  ///< beside what muster itself was given
};

/// What happens to it. Called from the event loop, never from within a call of ours but `read_now`.
struct SidecarEvents {
  std::function<void(std::string_view bytes)> on_bytes;
  /// It has closed its stream: it ends, or is gone.
  std::function<void()> on_closed;
};

/// Holds on to one of them: a stream socket, which it has as its standard input. Its output is muster's standard error. When this is
/// destroyed the stream is closed, at which it is to end; it is killed with the last processes of the attempt if it does not.
class Sidecar {
 public:
  Sidecar() = default;
  Sidecar(const Sidecar&) = delete;
  Sidecar& operator=(const Sidecar&) = delete;
  virtual ~Sidecar() = default;

  /// In this order, and when it takes them.
  virtual void send(std::string bytes) = 0;
  /// Tells now what it has said so far, from within this call.
  virtual void read_now() = 0;
};

/// Fails as a worker's start does.
using StartCompanion =
    std::function<Result<std::unique_ptr<Sidecar>>(const SidecarRequest&, SidecarEvents)>;

}  // namespace muster
