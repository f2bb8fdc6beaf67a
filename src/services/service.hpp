#pragma once

// Interface of services, which run beside the workers of an attempt, and of what they may use. How to add one is in
// docs/contributing.md.

#include "base/result.hpp"
#include "gang/events.hpp"
#include "gang/exchange_values.hpp"
#include "plan/launch_plan.hpp"
#include "process/helper_process.hpp"
#include "process/sidecars.hpp"
#include "process/timer.hpp"
#include "services/torch_store/store_server.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

// A named pipe into which processes of this node write, such as requests for a timer. named_pipe.cpp implements it.

/// Owns a pipe. Called from the event loop, never from within a call to the pipe.
class PipeOwner {
 public:
  virtual ~PipeOwner() = default;

  virtual void on_bytes(std::string_view bytes) = 0;
  /// The delay of `wake_after` is over.
  virtual void on_time() = 0;
};

/// Reads a named pipe for as long as the object lives; writers may come and go.
class NamedPipe {
 public:
  virtual ~NamedPipe() = default;

  /// Calls `on_time` once after this delay, and cancels an earlier request. Empty: never.
  virtual void wake_after(std::optional<std::chrono::nanoseconds> delay) = 0;
};

/// The values that a service adds to the plan before the workers start.
struct PlanAdditions {
  std::map<std::string, std::string> environment;      ///< of each worker, unless its role sets the variable
  std::map<std::string, std::string> deferred_values;  ///< for placeholders of the plan
  /// Variables of single workers, by their index in the plan.
  std::map<std::size_t, std::map<std::string, std::string>> environment_of = {};
};

/// Carries out requests of services.
class ServiceHost {
 public:
  virtual ~ServiceHost() = default;

  /// Fails as the start of a worker does.
  [[nodiscard]] virtual Result<std::unique_ptr<Sidecar>> start_sidecar(const SidecarRequest& request,
                                                                       SidecarEvents events) = 0;
  /// Opens an existing pipe, without waiting: its file system has just responded. `owner` outlives the pipe.
  [[nodiscard]] virtual Result<std::unique_ptr<NamedPipe>> open_pipe(const std::string& path, PipeOwner& owner) = 0;
  /// Contributes a value to the exchange, while an attempt runs.
  [[nodiscard]] virtual Result<> contribute(gang::Contributed value) = 0;
  /// Writes whole lines of another program in a worker's name, to where its standard error goes.
  virtual void write_as_worker(std::size_t worker, std::string_view lines) = 0;
  /// Runs `work` in a later turn of the event loop.
  virtual void run_later(std::function<void()> work) = 0;
  /// Runs `work` in a helper process, one after the other, because the file system may hang. Messages name `what` if it
  /// takes long.
  virtual void write_files(std::string what, HelperTask::Work work, HelperTask::Then then) = 0;
  /// Cancels the running `write_files` and the queued ones. The end of the job waits for `work`, for a moment.
  virtual void remove_files(HelperTask::Work work) = 0;
  /// Nodes by rank; on the leader, once an attempt starts.
  virtual std::vector<gang::NodePlace> nodes() const = 0;
  /// Rank of the worker of this node that has this pid, or has started the process with it; empty: none.
  virtual std::optional<int> rank_of(std::uint32_t pid) const = 0;
  /// Sends a signal, or 0 for none, to a process of this node if it is a worker or descends from one, and returns
  /// that worker's rank. Empty: the process is no worker's, and nothing was sent.
  virtual std::optional<int> signal_process(int pid, int signal) = 0;
  /// All ranks have called init_process_group, this long after the start.
  virtual void note_init(std::chrono::nanoseconds time) = 0;
};

class Service;

/// Called from the event loop only, between `start` and `stop` of a service, and never inside a call from outside.
class ServiceOwner {
 public:
  virtual ~ServiceOwner() = default;

  /// The service runs and cannot go on: the node fails, and the error names the service.
  virtual void on_service_failure(const Service& service, const Error& error) = 0;
  /// The service has become ready after `start`. Called once.
  virtual void on_service_ready(const PlanAdditions& additions) = 0;
};

/// One service beside the workers of one attempt of this node. It is made anew for each attempt, and destroyed when
/// the attempt is over. No call may block for long: until it returns, no signal, exit or heartbeat is handled.
class Service {
 public:
  virtual ~Service() = default;

  /// To be called before `start`; `owner` outlives the service.
  void set_owner(ServiceOwner& owner) { owner_ = &owner; }

  /// Called on the leader alone, before the nodes are told to start.
  [[nodiscard]] virtual Result<> prepare(AttemptPorts& /*offer*/) { return {}; }
  /// Called before the first worker starts. The plan has the additions of earlier services. Empty: the service is not
  /// ready, and the workers wait for `report_ready`.
  [[nodiscard]] virtual Result<std::optional<PlanAdditions>> start(const LaunchPlan& plan) = 0;
  virtual void on_worker_started(std::size_t /*worker*/) {}
  /// Called when a worker has exited. Returns why exit code 0 is a failure all the same, as the end of a sentence
  /// that begins with the worker's name: "called MPI_Abort(0)"; after a failure, its cause if the service knows it.
  virtual std::optional<Error> explain_end(std::size_t /*worker*/, bool /*has_succeeded*/) { return std::nullopt; }
  virtual void on_worker_ended(std::size_t /*worker*/, bool /*has_succeeded*/) {}
  /// All workers of this node have ended: a program that serves them must end, too.
  virtual void on_workers_over(bool /*is_success*/) {}
  /// A value that was merged from all nodes while the attempt runs.
  virtual void on_merged(const gang::Value& /*value*/) {}
  /// Ends the service. Called when no process of the attempt is alive any more.
  virtual void stop() {}

 protected:
  void report_failure(const Error& error) const { owner_->on_service_failure(*this, error); }
  void report_ready(const PlanAdditions& additions) const { owner_->on_service_ready(additions); }
  /// Wraps `call`, so that it does nothing once this service is destroyed.
  template <typename Call>
  auto guarded(Call call) const {
    return scope_.wrap(std::move(call));
  }

 private:
  ServiceOwner* owner_ = nullptr;
  CallbackScope scope_;
};

/// Settings that services use beside the plan, and their host.
struct ServiceInput {
  std::optional<std::uint16_t> worker_port;  ///< set by the user; empty: a free one
  std::string run_folder;                    ///< empty: none
  std::string host_name = {};
  bool is_protected = false;                          ///< a token protects the messages between nodes
  std::map<std::string, std::string> variables = {};  ///< inherited by workers, with the job's mark
  StoreServer* store = nullptr;                       ///< outlives the service
  ServiceHost* host = nullptr;                        ///< outlives the service
};

/// A service with the name that templates use.
struct NamedService {
  std::string name;
  std::unique_ptr<Service> service;
  bool is_started = false;
};

/// Failure of a service, at its start or later.
struct ServiceFailure {
  std::string service;
  Error error;
};

/// The services of one attempt, in the order of their start; they stop in reverse order.
class Services : private ServiceOwner {
 public:
  explicit Services(std::vector<NamedService> services) : services_(std::move(services)) {}
  /// Makes the services that the plan names; `check_services` has validated the names.
  Services(const std::vector<std::string>& names, const ServiceInput& input);
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;
  ~Services() override { stop(); }

  /// Changes the list before the start. Services that are in both lists are kept.
  void adjust(const std::vector<std::string>& names);

  /// A service could not be started, or cannot go on. Called once for each.
  std::function<void(const ServiceFailure&)> on_failure;
  /// All services are ready, if they were not when `start` returned.
  std::function<void()> on_ready;

  /// Prepares all services. An error begins with the service's name: "service 'worker_port': cannot ...".
  [[nodiscard]] Result<AttemptPorts> prepare();
  /// Starts the services in order and puts their additions into the plan, which outlives them. After a failure, the
  /// services that were started run until `stop`. True: all are ready; `on_ready` is not called.
  bool start(LaunchPlan& plan);
  /// Name of the service that is not ready yet; empty: all are.
  std::string awaited() const;
  /// The start timeout is over: the service that is not ready yet fails.
  void give_up_waiting(std::chrono::seconds time);
  /// The first failure; empty: no service has failed.
  const std::optional<ServiceFailure>& failure() const { return failure_; }
  void on_worker_started(std::size_t worker) { notify(&Service::on_worker_started, worker); }
  /// Asks each service about a worker that has ended. True: one knows that it failed, even if it exited with 0.
  bool explain_end(std::size_t worker, bool has_succeeded);
  /// The services' reasons for failures of workers, by index in the plan.
  const std::map<std::size_t, std::string>& explanations() const { return explanations_; }
  void on_worker_ended(std::size_t worker, bool has_succeeded) {
    notify(&Service::on_worker_ended, worker, has_succeeded);
  }
  void on_workers_over(bool is_success) { notify(&Service::on_workers_over, is_success); }
  void on_merged(const gang::Value& value) { notify(&Service::on_merged, value); }
  void stop();

 private:
  void on_service_failure(const Service& service, const Error& error) override;
  void on_service_ready(const PlanAdditions& additions) override;
  bool start_next();
  void fail(const std::string& service, const Error& error);
  template <typename... Parameters, typename... Arguments>
  void notify(void (Service::*what)(Parameters...), const Arguments&... arguments) {
    for (const NamedService& one : services_) {
      (*one.service.*what)(arguments...);
    }
  }

  ServiceInput input_;  ///< its port is offered even if no service asks for it: a platform may rely on it
  std::vector<NamedService> services_;
  std::size_t next_ = 0;        ///< first service that is not ready
  LaunchPlan* plan_ = nullptr;  ///< since `start`
  std::optional<ServiceFailure> failure_;
  std::map<std::size_t, std::string> explanations_;
};

/// Names that a template may use.
std::vector<std::string> service_names();

/// Fails with `BadData` for an unknown name; the message lists the known ones.
[[nodiscard]] Result<> check_services(const ModeTemplate& mode);

}  // namespace muster
