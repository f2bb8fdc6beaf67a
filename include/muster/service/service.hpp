#pragma once

// What runs beside the workers of an attempt has one shape. A new service is a file in src/service/
// and one line in src/service/services.cpp.

#include <muster/base/result.hpp>
#include <muster/plan/launch_plan.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// What the leader has ready for the workers of all nodes, told with the start of the attempt.
struct Offer {
  std::uint16_t worker_port = 0;  ///< 0: the job needs none
};

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

/// The services of one attempt, in the order in which they start; they stop in the opposite one.
/// Errors begin with the service's name: "service 'planned_files': cannot write ...".
class Services {
 public:
  /// Those that the plan names; `check_services` has seen the names.
  Services(const std::vector<std::string>& names, const ServiceInput& input);
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;
  ~Services() { stop(); }

  [[nodiscard]] Result<Offer> prepare();
  /// Starts one after the other and puts what they add into the plan. What was started before a
  /// failure runs until `stop`.
  [[nodiscard]] Result<> start(LaunchPlan& plan);
  void on_worker_started(std::size_t worker);
  void on_worker_ended(std::size_t worker);
  void stop();

 private:
  struct Named {
    std::string name;
    std::unique_ptr<Service> service;
    bool is_started = false;
  };

  std::uint16_t fixed_port_;  ///< told in any case: a platform may count on it
  std::vector<Named> services_;
};

/// The names that a template may use.
[[nodiscard]] std::vector<std::string> service_names();

/// Fails with `BadData` for a name that is none, and says which there are.
[[nodiscard]] Result<> check_services(const ModeTemplate& mode);

}  // namespace muster
