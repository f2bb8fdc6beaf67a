// The list of services of an attempt.
#include <muster/service/service.hpp>
#include <muster/service/worker_port.hpp>

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

TEST(Services, OfferNoPortToWhoNeedsNone) {
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
  plan.files = {{"/nosuch/a", "0640", "x"}};
  Services services({kPlannedFilesService}, {});
  const auto started = services.start(plan);

  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message,
            "service 'planned_files': cannot write '/nosuch/a': there is no folder '/nosuch'");
}

TEST(CheckServices, RefusesUnknownNames) {
  ModeTemplate mode;
  mode.name = "own";
  mode.services = service_names();
  EXPECT_TRUE(check_services(mode));

  mode.services.emplace_back("store");
  const auto checked = check_services(mode);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind, ErrorKind::BadData);
  EXPECT_EQ(
      checked.error().message,
      "the mode 'own' names the unknown service 'store'; there are worker_port, planned_files");
}

}  // namespace
}  // namespace muster
