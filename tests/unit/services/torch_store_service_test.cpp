// The store of PyTorch's ranks as a service: when it listens, whom it serves, what is told of ranks that are late.
#include "base/log.hpp"
#include "fake_host.hpp"
#include "services/services.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

class Recorder final : public StoreServer {
 public:
  std::vector<std::string> said;
  StoreJob job;
  StoreEvents events;
  std::optional<Error> obstacle;

  Result<> listen(std::uint16_t port) override {
    said.push_back("listen at " + std::to_string(port));
    return obstacle ? Result<>(*obstacle) : Result<>();
  }
  void serve(StoreJob its_job, StoreEvents its_events) override {
    said.emplace_back("serve");
    job = std::move(its_job);
    events = std::move(its_events);
  }
  void request_status_after(std::chrono::seconds delay) override {
    said.push_back("ask after " + std::to_string(delay.count()));
  }
  void forget_events() override { said.emplace_back("forget"); }
};

struct StoreHost final : public FakeHost {
  std::vector<gang::NodePlace> nodes() const override { return {{"10.0.0.1", 2}, {"10.0.0.2", 2}}; }
  std::optional<int> rank_of(std::uint32_t pid) const override { return static_cast<int>(pid); }
  void note_init(std::chrono::nanoseconds /*time*/) override { ++inits; }

  int inits = 0;
};

struct Bench {
  Recorder store;
  StoreHost host;
  FakeOwner owner;
  std::string messages;
  LaunchPlan plan;
  std::unique_ptr<Service> service;

  Bench() {
    set_up_messages(Level::Debug, false);
    set_log_sink([this](std::string_view line) { messages += line; });
    plan.world_size = 4;
    plan.workers.resize(2);
    plan.workers[1].global_rank = GlobalRank{1};
    ServiceInput input;
    input.store = &store;
    input.host = &host;
    service = make_torch_store(input);
    service->set_owner(owner);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench() { set_log_sink({}); }

  void lead() {
    AttemptPorts offer;
    offer.worker_port = 4'711;
    ASSERT_TRUE(service->prepare(offer));
    const auto started = service->start(plan);
    ASSERT_TRUE(started);
    EXPECT_TRUE(started->has_value());
  }
};

TEST(TorchStoreService, ListensBeforeTheStartAndServesThoseOfTheJob) {
  Bench bench;
  bench.lead();

  EXPECT_EQ(bench.store.said, (std::vector<std::string>{"listen at 4711", "serve"}));
  EXPECT_EQ(bench.store.job.workers, 4U);
  EXPECT_EQ(bench.store.job.addresses, (std::vector<std::string>{"10.0.0.1", "10.0.0.2"}));

  bench.service->stop();  // the ranks of other nodes may still need it
  EXPECT_EQ(bench.store.said.back(), "forget");
}

TEST(TorchStoreService, IsTheLeadersAlone) {
  Bench bench;
  ASSERT_TRUE(bench.service->start(bench.plan));
  bench.service->stop();

  EXPECT_TRUE(bench.store.said.empty());
}

TEST(TorchStoreService, FailsOnAPortInUse) {
  Bench bench;
  bench.store.obstacle = Error{ErrorKind::System, "cannot listen on port 4711"};
  AttemptPorts offer;
  EXPECT_FALSE(bench.service->prepare(offer));
}

TEST(TorchStoreService, LogsMissingRanksLessAndLessOften) {
  Bench bench;
  bench.lead();
  bench.store.events.on_status({0, 4, false});
  EXPECT_EQ(bench.store.said.back(), "ask after 60");
  EXPECT_EQ(bench.messages, "");

  bench.store.events.on_status({0, 4, false, {{"127.0.0.1", 0}, {"10.0.0.2", 9}, {"10.0.0.2", 8}}});
  EXPECT_EQ(bench.messages,
            "muster: init_process_group waits for rank 1: 3 of 4 ranks are there, the "
            "first for 0 s\n");
  EXPECT_EQ(bench.store.said.back(), "ask after 120");

  bench.messages.clear();
  bench.store.events.on_status({0, 4, true});
  EXPECT_EQ(bench.host.inits, 1);
  EXPECT_NE(bench.messages.find("all 4 ranks are in init_process_group now"), std::string::npos);
}

TEST(TorchStoreService, OnlyCountsRanksThatARankTableHasGiven) {
  Bench bench;
  bench.plan.workers[1].global_rank = GlobalRank{3};
  bench.lead();
  bench.store.events.on_status({0, 4, false, {{"127.0.0.1", 0}}});
  EXPECT_NE(bench.messages.find("init_process_group waits for 3 ranks: 1 of 4 ranks are there"), std::string::npos)
      << bench.messages;
}

TEST(TorchStoreService, ALaterMeetingIsNoStartOfTheJob) {
  Bench bench;
  bench.lead();
  bench.store.events.on_status({0, 4, true});
  bench.store.events.on_status({1, 4, false});
  bench.store.events.on_status({1, 4, true});

  EXPECT_EQ(bench.host.inits, 1);
  EXPECT_EQ(bench.messages.find("now"), std::string::npos) << bench.messages;
}

TEST(TorchStoreService, FailsWithItsProcess) {
  Bench bench;
  bench.lead();
  const StoreEvents events = bench.store.events;
  events.on_failure({ErrorKind::System, "its process has ended"});
  EXPECT_EQ(bench.owner.failures, std::vector<std::string>{"its process has ended"});

  bench.service.reset();
  events.on_failure({ErrorKind::System, "again"});  // what was under way reaches nobody
  EXPECT_EQ(bench.owner.failures.size(), 1U);
}

}  // namespace
}  // namespace muster
