#pragma once

// Sidecars: programs of services, which belong to muster itself.

#include "base/result.hpp"
#include "process/spawn.hpp"
#include "services/service.hpp"

#include <boost/asio/io_context.hpp>

#include <map>
#include <memory>
#include <set>
#include <string>

namespace muster {

/// The sidecars of this node's attempts. They are not workers: their exit is not reported, but an attempt waits for
/// them as for any other child.
class Sidecars {
 public:
  /// `variables` and `marker` are those of workers; all references outlive this.
  Sidecars(boost::asio::io_context& io, const Inherited& inherited, const std::map<std::string, std::string>& variables,
           const std::string& marker);

  [[nodiscard]] Result<std::unique_ptr<Sidecar>> start(const SidecarRequest& request, SidecarEvents events);

  /// Environment of sidecars: that of workers, with the job's marker.
  [[nodiscard]] std::map<std::string, std::string> environment() const;

  /// Sidecars of the running attempt, excluded from its cleanup so that they can finish.
  [[nodiscard]] const std::set<pid_t>& pids() const { return pids_; }
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
