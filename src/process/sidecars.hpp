#pragma once

// Runs programs that belong to muster itself: a query before the event loop runs, and the sidecars of services.

#include "base/result.hpp"
#include "process/spawn.hpp"
#include "services/service.hpp"

#include <boost/asio/io_context.hpp>

#include <map>
#include <memory>
#include <set>
#include <string>

namespace muster {

/// The spawn request of such a program, with these variables and those of `asked`; `input` is its standard input,
/// `output` takes its output and errors.
[[nodiscard]] SpawnRequest request_of(const SidecarRequest& asked, std::map<std::string, std::string> variables,
                                      int input, int output);

/// The answer of a program.
struct ProgramAnswer {
  bool has_succeeded = false;  ///< exited with 0
  std::string first_line;      ///< of output and errors, at most 400 bytes
};

/// Runs a program to its end; kills it and fails after 5 s. Blocks the caller.
[[nodiscard]] Result<ProgramAnswer> probe_program(const SidecarRequest& request, const Inherited& inherited,
                                                  const std::map<std::string, std::string>& variables);

// Sidecars: programs of services.

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
