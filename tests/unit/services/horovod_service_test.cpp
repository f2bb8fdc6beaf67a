// Horovod's store as a service: when it listens, whom it lets in, and how much it answers in a turn.
#include "services/services.hpp"

#include <gtest/gtest.h>

namespace muster {
namespace {

/// Calls that the service has made to its server.
struct Said {
  ServerEvents events;
  std::vector<std::string> admitted;
  std::vector<ClientId> held;
  std::vector<ClientId> answered;
  bool is_open = false;
};

class Recorder final : public Server {
 public:
  explicit Recorder(Said& said) : said_(said) { said_.is_open = true; }
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder() override { said_.is_open = false; }

  [[nodiscard]] std::uint16_t port() const override { return 4'711; }
  void admit_only(std::vector<std::string> addresses) override {
    said_.admitted = std::move(addresses);
    said_.admitted.emplace_back("and this machine");
  }
  void answer(ClientId client, std::string /*bytes*/) override { said_.answered.push_back(client); }
  void defer(ClientId client) override { said_.held.push_back(client); }

 private:
  Said& said_;
};

struct Bench {
  Said said;
  std::vector<std::function<void()>> later;
  std::unique_ptr<Service> service;

  Bench() {
    ServiceInput input;
    input.start_server = [this](ServerEvents events) {
      said.events = std::move(events);
      return Result<std::unique_ptr<Server>>(std::make_unique<Recorder>(said));
    };
    input.later = [this](std::function<void()> then) { later.push_back(std::move(then)); };
    service = make_horovod_store(input);
  }
};

TEST(HorovodStoreService, ListensOnTheLeaderUntilTheAttemptIsOver) {
  Bench bench;
  AttemptPorts offer;
  ASSERT_TRUE(bench.service->prepare(offer));
  EXPECT_EQ(offer.store_port, 4'711);
  LaunchPlan plan;
  plan.nodes = 2;
  plan.notified_nodes = {{"10.0.0.1", {}}, {"10.0.0.2", {}}};
  const auto started = bench.service->start(plan);
  ASSERT_TRUE(started && *started);
  EXPECT_EQ(bench.said.admitted, (std::vector<std::string>{"10.0.0.1", "10.0.0.2", "and this machine"}));

  bench.service->stop();
  EXPECT_FALSE(bench.said.is_open);
}

TEST(HorovodStoreService, HasNothingToDoOnOtherNodes) {
  Bench bench;
  const auto started = bench.service->start({});
  ASSERT_TRUE(started && *started);
  EXPECT_FALSE(bench.said.is_open);
  bench.service->stop();
}

TEST(HorovodStoreService, LetsInThisMachineAloneWhereThereIsOneNode) {
  Bench bench;
  AttemptPorts offer;
  ASSERT_TRUE(bench.service->prepare(offer));
  ASSERT_TRUE(bench.service->start({}));
  EXPECT_EQ(bench.said.admitted, std::vector<std::string>{"and this machine"});
}

TEST(HorovodStoreService, AnswersHundredsAFewInATurn) {
  Bench bench;
  AttemptPorts offer;
  ASSERT_TRUE(bench.service->prepare(offer));
  for (ClientId client = 1; client <= 100; ++client) {
    bench.said.events.on_bytes(client, "GET /global/0 HTTP/1.1\r\n\r\n");
  }
  EXPECT_EQ(bench.said.held.size(), 100U);

  bench.said.events.on_bytes(101, "PUT /global/0 HTTP/1.1\r\nContent-Length: 1\r\n\r\na");
  EXPECT_LE(bench.said.answered.size(), 20U);
  for (int turns = 0; !bench.later.empty() && turns < 100; ++turns) {
    const auto then = std::move(bench.later.front());
    bench.later.clear();
    then();
  }
  EXPECT_EQ(bench.said.answered.size(), 101U);
}

}  // namespace
}  // namespace muster
