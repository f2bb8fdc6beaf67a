// The table of services, and the list of those that one attempt needs.
#include "services/file_timer_service.hpp"
#include "services/horovod_service.hpp"
#include "services/planned_files.hpp"
#include "services/pmix_service.hpp"
#include "services/ssh_service.hpp"
#include "services/torch_store_service.hpp"
#include "services/worker_port_service.hpp"

#include "base/text.hpp"
#include "services/service.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

struct KnownService {
  const char* name;
  std::unique_ptr<Service> (*make)(const ServiceInput& input);
};

/// In the order in which they start: files are written last, with what the others have added.
constexpr auto kServices = std::to_array<KnownService>({
    {kWorkerPortService, make_worker_port_service},
    {kTorchStoreService, make_torch_store},
    {kPmixService, make_pmix_service},
    {kSshService, make_ssh_service},
    {kHorovodStoreService, make_horovod_store},
    {kFileTimerService, make_file_timer},
    {kPlannedFilesService, make_planned_files},
});

void add(LaunchPlan& plan, const PlanAdditions& additions) {
  if (!additions.deferred_values.empty()) {
    fill_deferred(plan, additions.deferred_values);
  }
  for (const auto& [worker, environment] : additions.environment_of) {
    plan.workers.at(worker).environment.insert(environment.begin(), environment.end());
  }
  for (WorkerPlan& worker : plan.workers) {
    worker.environment.insert(additions.environment.begin(), additions.environment.end());
  }
}

}  // namespace

void Service::do_later(const ServiceInput& input, std::function<void()> what) const {
  input.later(guarded(std::move(what)));
}

Services::Services(const std::vector<std::string>& names, const ServiceInput& input)
    : input_(input) {
  adjust(names);
}

void Services::adjust(const std::vector<std::string>& names) {
  std::vector<NamedService> wanted;
  for (const KnownService& known : kServices) {
    if (std::find(names.begin(), names.end(), known.name) == names.end()) {
      continue;
    }
    const auto here = std::find_if(services_.begin(), services_.end(), [&](const auto& one) {
      return one.name == known.name;
    });
    wanted.push_back(here != services_.end() ? std::move(*here)
                                             : NamedService{known.name, known.make(input_)});
  }
  services_ = std::move(wanted);
}

Result<AttemptPorts> Services::prepare() {
  AttemptPorts offer{.worker_port = input_.worker_port.value_or(0)};
  for (const NamedService& one : services_) {
    if (auto prepared = one.service->prepare(offer); !prepared) {
      return Error{prepared.error().kind,
                   "service '" + one.name + "': " + prepared.error().message};
    }
  }
  return offer;
}

std::optional<ServiceFailure> Services::start(LaunchPlan& plan) {
  next_ = 0;
  return start_next(plan);
}

/// Each one that is ready at once; then the others wait for the first that is not.
std::optional<ServiceFailure> Services::start_next(LaunchPlan& plan) {
  while (next_ < services_.size()) {
    NamedService& one = services_[next_];
    one.is_started = true;  // also one that fails half way has something to take back
    one.service->on_failure = [this, &one](const Error& error) { fail(one, error); };
    one.service->on_ready = [this, &plan](const PlanAdditions& additions) {
      take(additions, plan);
    };
    const auto additions = one.service->start(plan);
    if (!additions) {
      return ServiceFailure{one.name, additions.error()};
    }
    if (!*additions) {
      return std::nullopt;
    }
    add(plan, **additions);
    ++next_;
  }
  return std::nullopt;
}

/// The one that was waited for is ready.
void Services::take(const PlanAdditions& additions, LaunchPlan& plan) {
  add(plan, additions);
  ++next_;
  if (const auto failed = start_next(plan)) {
    on_failure(*failed);
  } else if (next_ == services_.size()) {
    on_ready();
  }
}

std::string Services::awaited() const {
  return next_ < services_.size() ? services_[next_].name : std::string();
}

void Services::fail(const NamedService& one, const Error& error) const {
  if (one.is_started && on_failure) {
    on_failure({one.name, error});
  }
}

void Services::on_worker_started(std::size_t worker) {
  for (const NamedService& one : services_) {
    one.service->on_worker_started(worker);
  }
}

std::optional<Error> Services::find_failure_at_exit_0(std::size_t worker, bool has_succeeded) {
  for (const NamedService& one : services_) {
    if (auto fault = one.service->find_failure_at_exit_0(worker, has_succeeded)) {
      return fault;
    }
  }
  return std::nullopt;
}

void Services::on_worker_ended(std::size_t worker, bool has_succeeded) {
  for (const NamedService& one : services_) {
    one.service->on_worker_ended(worker, has_succeeded);
  }
}

void Services::on_workers_over(bool is_success) {
  for (const NamedService& one : services_) {
    one.service->on_workers_over(is_success);
  }
}

void Services::on_merged(const gang::Value& value) {
  for (const NamedService& one : services_) {
    one.service->on_merged(value);
  }
}

void Services::stop() {
  for (auto one = services_.rbegin(); one != services_.rend(); ++one) {
    if (std::exchange(one->is_started, false)) {
      one->service->stop();
    }
  }
}

std::vector<std::string> service_names() {
  std::vector<std::string> names;
  names.reserve(std::size(kServices));
  for (const KnownService& known : kServices) {
    names.emplace_back(known.name);
  }
  return names;
}

Result<> check_services(const ModeTemplate& mode) {
  const std::vector<std::string> names = service_names();
  for (const std::string& wanted : mode.services) {
    if (std::find(names.begin(), names.end(), wanted) == names.end()) {
      return Error{ErrorKind::BadData,
                   mode.service_places.at(wanted) + " names the unknown service '" + wanted +
                       "'; there are " + join(names, ", ")};
    }
  }
  return {};
}

}  // namespace muster
