// The list of services of an attempt.
#include "process/worker_port.hpp"
#include "services/service.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

TEST(Services, OfferAFreshPortOrTheGivenOne) {
  Services fresh({kWorkerPortService}, {});
  const auto first = fresh.prepare();
  ASSERT_TRUE(first);
  EXPECT_NE(first->worker_port, 0);

  Services fixed({kWorkerPortService}, {.worker_port = first->worker_port, .run_folder = ""});
  EXPECT_EQ(fixed.prepare()->worker_port, first->worker_port);
}

TEST(Services, OfferNoPortToServicesWithoutOne) {
  Services none({}, {});
  EXPECT_EQ(none.prepare()->worker_port, 0);
}

TEST(Services, HoldThePortUntilTheyStop) {
  Services services({kWorkerPortService}, {});
  const auto offer = services.prepare();
  ASSERT_TRUE(offer);
  LaunchPlan plan;
  ASSERT_TRUE(services.start(plan));
  EXPECT_TRUE(WorkerPort::check_is_free(offer->worker_port)) << "nobody listens there";
  services.stop();
  services.stop();
}

TEST(Services, NameTheOneThatFails) {
  LaunchPlan plan;
  plan.files = {{"", "0640", "x"}};
  Services services({kPlannedFilesService}, {});
  EXPECT_FALSE(services.start(plan));

  const auto& failed = services.failure();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->service, kPlannedFilesService);
  EXPECT_EQ(failed->error.message, "there is no folder for files of the workers (TMPDIR names another place)");
}

class Idle : public Service {
 public:
  using Service::report_failure;

  Result<std::optional<PlanAdditions>> start(const LaunchPlan& /*plan*/) override {
    return std::optional<PlanAdditions>(std::in_place);
  }
};

TEST(Services, SayWhichOneCannotGoOnWhileItRuns) {
  std::vector<NamedService> list;
  list.push_back({"store", std::make_unique<Idle>()});
  auto& store = static_cast<Idle&>(*list.front().service);
  Services services(std::move(list));
  std::vector<std::string> said;
  services.on_failure = [&](const ServiceFailure& failure) {
    said.push_back(failure.service + ": " + failure.error.message);
  };
  LaunchPlan plan;

  EXPECT_TRUE(services.start(plan));
  store.report_failure({ErrorKind::System, "out of memory"});
  services.stop();
  store.report_failure({ErrorKind::System, "gone"});
  EXPECT_EQ(said, std::vector<std::string>{"store: out of memory"});
}

class Slow : public Service {
 public:
  using Service::report_ready;

  Result<std::optional<PlanAdditions>> start(const LaunchPlan& /*plan*/) override {
    return std::optional<PlanAdditions>();
  }
};

TEST(Services, WaitForOneThatNeedsAMoment) {
  std::vector<NamedService> list;
  list.push_back({"pmix", std::make_unique<Slow>()});
  list.push_back({"store", std::make_unique<Slow>()});
  auto& pmix = static_cast<Slow&>(*list.front().service);
  auto& store = static_cast<Slow&>(*list.back().service);
  Services services(std::move(list));
  bool is_ready = false;
  services.on_ready = [&] { is_ready = true; };
  LaunchPlan plan;
  plan.workers.resize(2);

  EXPECT_FALSE(services.start(plan));
  EXPECT_EQ(services.awaited(), "pmix");
  pmix.report_ready({.environment = {{"A", "all"}}, .deferred_values = {}, .environment_of = {{1, {{"A", "one"}}}}});
  EXPECT_EQ(services.awaited(), "store");
  EXPECT_FALSE(is_ready);
  store.report_ready({});

  EXPECT_TRUE(is_ready);
  EXPECT_EQ(services.awaited(), "");
  EXPECT_EQ(plan.workers[0].environment.at("A"), "all");
  EXPECT_EQ(plan.workers[1].environment.at("A"), "one");
}

TEST(CheckServices, RefusesUnknownNames) {
  ModeTemplate mode;
  mode.name = "own";
  mode.services = service_names();
  EXPECT_TRUE(check_services(mode));

  mode.services.emplace_back("store");
  mode.service_places["store"] = "own.yaml:4: /services/0";
  const auto checked = check_services(mode);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind, ErrorKind::BadData);
  EXPECT_EQ(checked.error().message,
            "own.yaml:4: /services/0 names the unknown service 'store'; there are worker_port, "
            "torch_store, "
            "pmix, ssh, file_timer, planned_files");
}

}  // namespace
}  // namespace muster
