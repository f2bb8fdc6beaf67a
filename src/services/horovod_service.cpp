// The leader listens before any worker starts, and all nodes are told where. Answers go a few at a time.
#include "services/horovod_service.hpp"

#include "services/store.hpp"

namespace muster {
namespace {

class HorovodStoreService final : public Service {
 public:
  explicit HorovodStoreService(ServiceInput input) : input_(std::move(input)) {}

  Result<> prepare(AttemptPorts& offer) override {
    ServerEvents events;
    events.on_bytes = [this](ClientId client, std::string_view bytes) {
      if (store_.on_bytes(client, bytes) == horovod::Store::Next::Hold) {
        server_->defer(client);
      }
      answer();
    };
    events.on_deferred = [this](ClientId client) {
      store_.on_deferred(client);
      answer();
    };
    events.on_closed = [this](ClientId client) { store_.on_closed(client); };
    auto server = input_.start_server(std::move(events));
    if (!server) {
      return server.error();
    }
    server_ = std::move(*server);
    offer.store_port = server_->port();
    return {};
  }

  Result<std::optional<PlanAdditions>> start(const LaunchPlan& plan) override {
    if (server_ && (plan.nodes == 1 || !plan.notified_nodes.empty())) {
      std::vector<std::string> addresses;
      addresses.reserve(plan.notified_nodes.size());
      for (const NodePorts& node : plan.notified_nodes) {
        addresses.push_back(node.host);
      }
      server_->admit_only(std::move(addresses));
    }
    return std::optional(PlanAdditions{});
  }

  void stop() override { server_.reset(); }

 private:
  /// What hundreds have waited for is not sent to all of them in one turn.
  void answer() {
    constexpr int kInOneTurn = 16;
    int answered = 0;
    while (answered < kInOneTurn && answer_one()) {
      ++answered;
    }
    if (answered == kInOneTurn && !std::exchange(goes_on_, true)) {
      do_later(input_, [this] { go_on(); });
    }
  }

  /// False: nobody waits for an answer.
  bool answer_one() {
    auto reply = store_.take_reply();
    if (reply) {
      server_->answer(reply->client, std::move(reply->bytes));
    }
    return reply.has_value();
  }

  void go_on() {
    goes_on_ = false;
    if (server_) {
      answer();
    }
  }

  ServiceInput input_;
  horovod::Store store_;
  std::unique_ptr<Server> server_;
  bool goes_on_ = false;
};

}  // namespace

std::unique_ptr<Service> make_horovod_store(const ServiceInput& input) {
  return std::make_unique<HorovodStoreService>(input);
}

}  // namespace muster
