#pragma once

// What runs beside the workers of an attempt has one shape. A new service is a file in src/service/
// and one line in src/service/services.cpp.

#include <muster/base/result.hpp>
#include <muster/plan/launch_plan.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// What a service adds before the workers start.
struct Additions {
  std::map<std::string, std::string> environment;  ///< of each worker, unless its role sets it
  std::map<std::string, std::string> late_values;  ///< for placeholders of the plan
};

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

  /// On the leader alone, before the nodes are told to start.
  [[nodiscard]] virtual Result<> prepare(Offer& /*offer*/) { return {}; }
  /// Before the first worker. The plan has what earlier services of the list have added.
  [[nodiscard]] virtual Result<Additions> start(const LaunchPlan& plan) = 0;
  virtual void on_worker_started(std::size_t /*worker*/) {}
  virtual void on_worker_ended(std::size_t /*worker*/) {}
  /// Nothing of the attempt is alive any more.
  virtual void stop() {}
};

/// What services need to know beside the plan.
struct ServiceInput {
  std::optional<std::uint16_t> worker_port;  ///< fixed by the user; empty: a fresh one
  std::string run_folder;                    ///< empty: there is none
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

  /// One that has been started cannot go on. Each says so once.
  std::function<void(const ServiceFailure&)> on_failure;

  /// The error begins with the service's name: "service 'worker_port': cannot ...".
  [[nodiscard]] Result<Offer> prepare();
  /// Starts one after the other and puts what they add into the plan. What was started before a
  /// failure runs until `stop`. Empty: all run.
  [[nodiscard]] std::optional<ServiceFailure> start(LaunchPlan& plan);
  void on_worker_started(std::size_t worker);
  void on_worker_ended(std::size_t worker);
  void stop();

 private:
  void fail(const NamedService& one, const Error& error) const;

  std::uint16_t fixed_port_ = 0;  ///< told in any case: a platform may count on it
  std::vector<NamedService> services_;
};

/// The names that a template may use.
[[nodiscard]] std::vector<std::string> service_names();

/// Fails with `BadData` for a name that is none, and says which there are.
[[nodiscard]] Result<> check_services(const ModeTemplate& mode);

}  // namespace muster
