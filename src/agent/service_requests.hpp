#pragma once

// Makes the services of attempts, and carries out what they request. Private to src/agent.

#include "agent/attempt.hpp"
#include "agent/process_loop.hpp"
#include "agent/shutdown.hpp"
#include "gang/gang.hpp"
#include "process/sidecars.hpp"
#include "run/run_context.hpp"
#include "services/named_pipe.hpp"
#include "services/service.hpp"
#include "services/torch_store/store_process.hpp"

#include <boost/asio/post.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster {

/// Has what services use longer than one attempt: the store's process, sidecars, and the writing of files.
class ServiceRequests : private ServiceHost {
 public:
  /// The references outlive it. `attempt`: the present one; null: none yet.
  ServiceRequests(ProcessLoop& loop, PendingWork& pending, const RunContext& run, gang::Gang& gang,
                  const std::unique_ptr<Attempt>& attempt);

  /// All ranks have called init_process_group, this long after the start.
  std::function<void(std::chrono::nanoseconds time)> on_ranks_met;

  /// On the leader the services of the next attempt begin here; on other nodes, at the start of the attempt.
  [[nodiscard]] Result<AttemptPorts> prepare();
  /// The services of an attempt that starts now.
  std::unique_ptr<Services> take(const LaunchPlan& plan);
  Sidecars& sidecars() { return sidecars_; }

  /// Asks the store that this node serves for the keys for which ranks wait, and calls `then` later with a sentence
  /// about them. False: this node serves no store that a rank has reached.
  bool ask_store(std::function<void(const std::string& keys)> then);
  /// True until all that was asked is answered.
  bool is_store_asked() const { return store_.is_asked_who_waits(); }

 private:
  std::unique_ptr<Services> make(const std::vector<std::string>& names);

  [[nodiscard]] Result<std::unique_ptr<Sidecar>> start_sidecar(const SidecarRequest& request,
                                                               SidecarEvents events) override {
    return sidecars_.start(request, std::move(events));
  }
  [[nodiscard]] Result<std::unique_ptr<NamedPipe>> open_pipe(const std::string& path, PipeOwner& owner) override {
    return muster::open_pipe(loop_.io(), path, owner);
  }
  [[nodiscard]] Result<> contribute(gang::Contributed value) override { return gang_.contribute(std::move(value)); }
  void write_as_worker(std::size_t worker, std::string_view lines) override;
  void run_later(std::function<void()> work) override { boost::asio::post(loop_.io(), std::move(work)); }
  void write_files(std::string what, HelperTask::Work work, HelperTask::Then then) override {
    files_.write(std::move(what), std::move(work), std::move(then));
  }
  void remove_files(HelperTask::Work work) override { files_.remove(std::move(work)); }
  std::vector<gang::NodePlace> nodes() const override { return gang_.nodes(); }
  std::optional<int> rank_of(std::uint32_t pid) const override;
  std::optional<int> signal_process(int pid, int signal) override;
  void note_init(std::chrono::nanoseconds time) override { on_ranks_met(time); }

  ProcessLoop& loop_;
  const RunContext& run_;
  gang::Gang& gang_;
  const std::unique_ptr<Attempt>& attempt_;
  StoreProcess store_;
  Sidecars sidecars_;
  ServiceFiles files_;
  std::unique_ptr<Services> next_;  ///< of the attempt that the leader is about to start
};

}  // namespace muster
