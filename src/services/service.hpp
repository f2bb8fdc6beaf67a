#pragma once

// What runs beside the workers of an attempt has one shape. A new service is a file in src/service/
// and one line in src/service/services.cpp.

#include "base/result.hpp"
#include "gang/events.hpp"
#include "gang/exchange_values.hpp"
#include "plan/launch_plan.hpp"
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

// A port of this node where programs of the job meet a service, such as a store. What services ask for; run/ opens it.

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

// A program of muster's own that serves the workers of this node, such as the PMIx server. What services ask for;
// run/ starts it.

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
using StartSidecar = std::function<Result<std::unique_ptr<Sidecar>>(const SidecarRequest&, SidecarEvents)>;

// A named pipe into which processes of this node write, such as requests for a timer. What services ask for; run/ opens it.

/// What happens. Called from the event loop, never from within a call of ours.
struct PipeEvents {
  std::function<void(std::string_view bytes)> on_bytes;
  /// It is as late as was asked for.
  std::function<void()> on_time;
};

/// Read from its birth until it is destroyed; whoever has opened it for writing may come and go.
class NamedPipe {
 public:
  NamedPipe() = default;
  NamedPipe(const NamedPipe&) = delete;
  NamedPipe& operator=(const NamedPipe&) = delete;
  virtual ~NamedPipe() = default;

  /// So long from now `on_time` is called, once, and not when that was asked for before. Empty: never.
  virtual void wake_after(std::optional<std::chrono::nanoseconds> delay) = 0;
};

/// Opens one that is there. Its file system has just answered: nobody waits for it here.
using OpenPipe = std::function<Result<std::unique_ptr<NamedPipe>>(const std::string& path, PipeEvents)>;

/// What a service adds before the workers start.
struct PlanAdditions {
  std::map<std::string, std::string> environment;      ///< of each worker, unless its role sets it
  std::map<std::string, std::string> deferred_values;  ///< for placeholders of the plan
  /// Of single workers, by their place in the plan, in the same way.
  std::map<std::size_t, std::map<std::string, std::string>> environment_of = {};
};

struct ServiceInput;

/// One thing that runs beside the workers of one attempt of this node. It is made anew for each
/// attempt, and destroyed when the attempt is over. No call may block for long: while it does, no
/// signal, no death and no heartbeat is looked at.
class Service {
 public:
  Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  virtual ~Service() = default;

  /// To be called by a service that runs and cannot go on: the node has failed then, by its name. Only
  /// from the event loop, between `start` and `stop`, and never inside a call from outside.
  std::function<void(const Error&)> on_failure;
  /// To be called once, in the same way, by a service that has become ready after `start`.
  std::function<void(PlanAdditions)> on_ready;

  /// On the leader alone, before the nodes are told to start.
  [[nodiscard]] virtual Result<> prepare(AttemptPorts& /*offer*/) { return {}; }
  /// Before the first worker. The plan has what earlier services of the list have added. Empty: it needs
  /// a moment, and the workers wait for `on_ready`.
  [[nodiscard]] virtual Result<std::optional<PlanAdditions>> start(const LaunchPlan& plan) = 0;
  virtual void on_worker_started(std::size_t /*worker*/) {}
  /// A worker has ended. Why it has failed all the same where that was with 0, as the end of a sentence that begins with its
  /// name: "called MPI_Abort(0)"; else what is known of why it has failed.
  [[nodiscard]] virtual std::optional<Error> find_failure_at_exit_0(std::size_t /*worker*/, bool /*has_succeeded*/) {
    return std::nullopt;
  }
  virtual void on_worker_ended(std::size_t /*worker*/, bool /*has_succeeded*/) {}
  /// No worker of this node is alive, nor will be: a program that serves them is to end.
  virtual void on_workers_over(bool /*is_success*/) {}
  /// What the nodes have brought together while the attempt runs.
  virtual void on_merged(const gang::Value& /*value*/) {}
  /// Nothing of the attempt is alive any more.
  virtual void stop() {}

 protected:
  /// Does it in a later turn of the event loop, if this is still there then. `input`: what it was made with.
  void do_later(const ServiceInput& input, std::function<void()> what) const;
  /// The same call, which does nothing if this is gone by then.
  template <typename Call>
  [[nodiscard]] auto guarded(Call call) const {
    return [call = std::move(call), is_here = std::weak_ptr<bool>(is_here_)](const auto&... given) {
      if (!is_here.expired()) {
        call(given...);
      }
    };
  }

 private:
  std::shared_ptr<bool> is_here_ = std::make_shared<bool>(true);
};

/// Work on files, whose file system may hang: it is done beside us, and nothing that it changes in memory is
/// seen afterwards. One piece after the other.
struct AsyncFileIo {
  using Work = std::function<std::string()>;
  using Answer = std::optional<std::string>;  ///< what the work returned; empty: its time was over
  /// Calls `then` in a later turn of the event loop. `what` is said where it takes long.
  std::function<void(std::string what, Work work, std::function<void(Answer)> then)> write = nullptr;
  /// Ends the `write` that goes on, and those that have not begun. The end of the job waits for it, for a moment.
  std::function<void(Work work)> remove = nullptr;
};

/// What services need to know beside the plan, and what they may ask for.
struct ServiceInput {
  std::optional<std::uint16_t> worker_port;  ///< fixed by the user; empty: a fresh one
  std::string run_folder;                    ///< empty: there is none
  std::string host_name = {};
  bool is_protected = false;                          ///< a token protects what the nodes tell each other
  std::map<std::string, std::string> variables = {};  ///< what workers inherit, with the job's mark
  StartSidecar start_sidecar = nullptr;
  StartServer start_server = nullptr;
  OpenPipe open_pipe = nullptr;
  /// Contributes to the exchange, while an attempt runs.
  std::function<Result<>(gang::Contributed)> contribute = nullptr;
  /// Whole lines that somebody else writes in a worker's name: they go where its standard error goes.
  std::function<void(std::size_t worker, std::string_view lines)> write_as_worker = nullptr;
  /// Calls back in a later turn of the event loop.
  std::function<void(std::function<void()>)> later = nullptr;
  AsyncFileIo file_work = {};
  StoreServer* store = nullptr;  ///< outlives the service
  /// By their rank, on the leader, once an attempt starts.
  std::function<std::vector<gang::NodePlace>()> nodes = nullptr;
  /// Of the worker of this node that the process is, or descends from.
  std::function<std::optional<int>(std::uint32_t pid)> rank_of = nullptr;
  /// Sends a signal, or 0 for none, to a process of this node if it is a worker, or descends from one; returns the rank of that.
  /// Empty: it is none of theirs, and has got nothing.
  std::function<std::optional<int>(int pid, int signal)> signal_process = nullptr;
  /// All ranks have called init_process_group, so long after the start.
  std::function<void(std::chrono::nanoseconds)> note_init = nullptr;
};

/// A service by its name, as templates call it.
struct NamedService {
  std::string name;
  std::unique_ptr<Service> service;
  bool is_started = false;
};

/// What a service could not do, at its start or later.
struct ServiceFailure {
  std::string service;
  Error error;
};

/// The services of one attempt, in the order in which they start; they stop in the opposite one.
class Services {
 public:
  explicit Services(std::vector<NamedService> services) : services_(std::move(services)) {}
  /// Those that the plan names; `check_services` has seen the names.
  Services(const std::vector<std::string>& names, const ServiceInput& input);
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;
  ~Services() { stop(); }

  /// Before the start: these are wanted after all. Those that are there already stay as they are.
  void adjust(const std::vector<std::string>& names);

  /// One that has been started cannot go on. Each says so once.
  std::function<void(const ServiceFailure&)> on_failure;
  /// All run, where they did not when `start` returned.
  std::function<void()> on_ready;

  /// The error begins with the service's name: "service 'worker_port': cannot ...".
  [[nodiscard]] Result<AttemptPorts> prepare();
  /// Starts one after the other and puts what they add into the plan, which outlives them. What was started
  /// before a failure runs until `stop`. Empty: all run, or `awaited` names the one that needs a moment.
  [[nodiscard]] std::optional<ServiceFailure> start(LaunchPlan& plan);
  /// The one that is not ready yet, by its name; empty: all are.
  [[nodiscard]] std::string awaited() const;
  void on_worker_started(std::size_t worker);
  /// The first service that knows of a fault says what it is.
  [[nodiscard]] std::optional<Error> find_failure_at_exit_0(std::size_t worker, bool has_succeeded);
  void on_worker_ended(std::size_t worker, bool has_succeeded);
  void on_workers_over(bool is_success);
  void on_merged(const gang::Value& value);
  void stop();

 private:
  void fail(const NamedService& one, const Error& error) const;
  [[nodiscard]] std::optional<ServiceFailure> start_next(LaunchPlan& plan);
  void take(const PlanAdditions& additions, LaunchPlan& plan);

  ServiceInput input_;  ///< its port is told in any case: a platform may count on it
  std::vector<NamedService> services_;
  std::size_t next_ = 0;  ///< the first one that is not ready
};

/// The names that a template may use.
[[nodiscard]] std::vector<std::string> service_names();

/// Fails with `BadData` for a name that is none, and says which there are.
[[nodiscard]] Result<> check_services(const ModeTemplate& mode);

}  // namespace muster
