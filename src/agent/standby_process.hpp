#pragma once

// One standby: its start, its imports, and its order to become a worker. Private to src/agent.

#include "base/file_io.hpp"
#include "process/spawn.hpp"
#include "standby/standby_rules.hpp"

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// A standby that has become a worker: a child of ours, which leads a session.
struct StartedStandby {
  pid_t pid = -1;
  UniqueFd pidfd;
  StreamEnds ours;  ///< of its output
  UniqueFd socket;  ///< "no REASON" comes here if the worker has to start its program as any process does
};

/// A process of Python that imports modules and then waits for an order. Its output stays in its pipes until it is a worker.
class StandbyProcess {
 public:
  /// Starts it by the request of the worker. `folder` has sitecustomize.py. Fails as `Spawner::spawn` does, and without
  /// pidfds.
  [[nodiscard]] static Result<std::unique_ptr<StandbyProcess>> start(Spawner& spawner, const SpawnRequest& worker,
                                                                     const OutputConnection& output,
                                                                     const std::string& folder);
  /// Sends the standby its imports, see `standby::imports_message`. Fails if the standby does not read.
  [[nodiscard]] Result<> send_imports(const standby::Imports& imports, bool are_given);
  StandbyProcess(const StandbyProcess&) = delete;
  StandbyProcess& operator=(const StandbyProcess&) = delete;
  /// Kills it, unless it has become a worker.
  ~StandbyProcess();

  pid_t pid() const { return pid_; }
  /// Readable when it ends.
  int pidfd() const { return pidfd_.get(); }
  /// Has the answer of the standby: "ready", or "no REASON". Without an answer, its Python has not imported our file.
  int socket() const { return socket_.get(); }
  void note_ready() { is_ready_ = true; }
  bool is_ready() const { return is_ready_; }

  /// Why it cannot become this worker: "it has ended"; empty: it can.
  std::string obstacle(const SpawnRequest& worker, const OutputConnection& output) const;
  /// Orders it to become the worker, with our priority. Empty: it has ended meanwhile.
  std::optional<StartedStandby> become(const SpawnRequest& worker) &&;

 private:
  StandbyProcess() = default;
  bool has_ended() const;

  pid_t pid_ = -1;
  UniqueFd pidfd_;
  UniqueFd socket_;
  StreamEnds ours_;
  SpawnRequest request_;
  OutputConnection output_;
  bool is_paced_ = false;  ///< it has to sleep between imports
  bool is_ready_ = false;
};

}  // namespace muster
