#pragma once

// Sidecars: programs of services, which belong to muster itself.

#include "base/result.hpp"
#include "process/spawn.hpp"

#include <boost/asio/io_context.hpp>

#include <map>
#include <memory>
#include <set>
#include <string>

namespace muster {

/// A program of muster that serves the workers of this node, such as the PMIx server.
struct SidecarRequest {
  std::string executable;                               ///< path of the program
  std::vector<std::string> argv;                        ///< with the program's name
  std::map<std::string, std::string> environment = {};  ///< added to muster's own environment
};

/// Events of a sidecar. Called from the event loop, never from within a call except `read_now`.
struct SidecarEvents {
  std::function<void(std::string_view bytes)> on_bytes;
  /// The sidecar has closed its stream: it is ending or gone.
  std::function<void()> on_closed;
};

/// Owns a sidecar, and the stream socket that is its standard input. Its output goes to muster's standard error.
/// Destruction closes the stream, at which the sidecar has to exit; else it is killed with the last processes of the
/// attempt.
class Sidecar {
 public:
  virtual ~Sidecar() = default;

  /// Queues bytes, in order, until the sidecar takes them.
  virtual void send(std::string bytes) = 0;
  /// Reads what the sidecar has sent so far, and calls `on_bytes` from within this call.
  virtual void read_now() = 0;
};

/// The sidecars of this node's attempts. They are not workers: their exit is not reported, but an attempt waits for
/// them as for any other child.
class Sidecars {
 public:
  /// `variables` and `marker` are those of workers; all references outlive this.
  Sidecars(boost::asio::io_context& io, const Inherited& inherited, const std::map<std::string, std::string>& variables,
           const std::string& marker);

  [[nodiscard]] Result<std::unique_ptr<Sidecar>> start(const SidecarRequest& request, SidecarEvents events);

  /// Environment of sidecars: that of workers, with the job's marker.
  std::map<std::string, std::string> environment() const;

  /// Sidecars of the running attempt, excluded from its cleanup so that they can finish.
  const std::set<pid_t>& pids() const { return pids_; }
  /// To be called after an attempt, when none is alive.
  void forget() { pids_.clear(); }

 private:
  boost::asio::io_context& io_;
  const std::map<std::string, std::string>& variables_;
  std::string marker_;
  Spawner spawner_;
  std::set<pid_t> pids_;
};

}  // namespace muster
