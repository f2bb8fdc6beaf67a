#pragma once

// A short question to a program of muster's own, before the event loop runs.

#include "base/result.hpp"
#include "process/spawn.hpp"
#include "services/service.hpp"

#include <boost/asio/io_context.hpp>

#include <map>
#include <memory>
#include <set>
#include <string>

namespace muster {

/// How a program of muster's own is started: with these variables and what is asked for beside them; it reads from the one
/// descriptor, and writes output and errors to the other.
[[nodiscard]] SpawnRequest request_of(const SidecarRequest& asked, std::map<std::string, std::string> variables,
                                      int input, int output);

/// What it has answered.
struct ProgramAnswer {
  bool has_succeeded = false;  ///< it ended with 0
  std::string first_line;      ///< of its output and error, at most 400 bytes
};

/// Runs it to its end, which is waited for 5 s; then it is killed, and this fails. To be called where nothing else is to
/// be done meanwhile.
[[nodiscard]] Result<ProgramAnswer> probe_program(const SidecarRequest& request, const Inherited& inherited,
                                                  const std::map<std::string, std::string>& variables);

// Starts the programs of services, and speaks with them.

/// The companions of the attempts of this node. They are no workers: nobody is told how they end, and who
/// waits for the last process of an attempt waits for them as for any other child.
class Sidecars {
 public:
  /// `variables` and `marker` are what workers get too; all of it outlives this.
  Sidecars(boost::asio::io_context& io, const Inherited& inherited, const std::map<std::string, std::string>& variables,
           const std::string& marker);

  [[nodiscard]] Result<std::unique_ptr<Sidecar>> start(const SidecarRequest& request, SidecarEvents events);

  /// What they find: that of workers, with the job's mark.
  [[nodiscard]] std::map<std::string, std::string> environment() const;

  /// Those of the running attempt: what they do at its end is not swept away before it is done.
  [[nodiscard]] const std::set<pid_t>& pids() const { return pids_; }
  /// The attempt is over: none is alive.
  void forget() { pids_.clear(); }

 private:
  boost::asio::io_context& io_;
  const std::map<std::string, std::string>& variables_;
  std::string marker_;
  Spawner spawner_;
  std::set<pid_t> pids_;
};

}  // namespace muster
