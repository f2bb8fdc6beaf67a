// The leader listens at the workers' port before the start is told to anybody, so no worker comes too early and nobody
// else can take the port.
#include "services/torch_store_service.hpp"

#include "services/torch_store/missing_ranks.hpp"

#include "base/text.hpp"
#include "base/log.hpp"

#include <chrono>
#include <utility>

namespace muster {
namespace {

/// After the first rank; then twice as late each time.
constexpr std::chrono::seconds kFirstPoll{60};

std::string text_of(std::chrono::nanoseconds time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time).count()) + " s";
}

class TorchStoreService final : public Service {
 public:
  explicit TorchStoreService(ServiceInput input) : input_(std::move(input)) {}

  Result<> prepare(AttemptPorts& offer) override {
    is_leader_ = true;
    return input_.store->listen(offer.worker_port);
  }

  Result<std::optional<PlanAdditions>> start(const LaunchPlan& plan) override {
    if (is_leader_) {
      nodes_ = input_.nodes();
      StoreJob job{static_cast<std::size_t>(plan.world_size), {}};
      for (const gang::NodePlace& node : nodes_) {
        job.addresses.push_back(node.address);
      }
      for (std::size_t i = 0; i < plan.workers.size(); ++i) {
        go_by_nodes_ = go_by_nodes_ && plan.workers[i].global_rank.value == static_cast<int>(i);
      }
      started_ = Clock::now();
      input_.store->serve(std::move(job),
                          {guarded([this](const StoreStatus& news) { follow(news); }),
                           guarded([this](const Error& error) { on_failure(error); })});
    }
    return std::optional<PlanAdditions>(std::in_place);
  }

  /// The workers of other nodes may go on: the store ends with the job, or when the next attempt listens.
  void stop() override {
    if (is_leader_) {
      input_.store->forget_events();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  void follow(const StoreStatus& news) {
    const auto now = Clock::now();
    if (news.is_complete) {
      on_complete(news, now - started_);
    } else if (news.arrived.empty()) {
      meeting_began_ = now;
      next_poll_ = kFirstPoll;
      input_.store->request_later(next_poll_);
    } else {
      log_missing_ranks(news, now - meeting_began_);
      next_poll_ *= 2;
      input_.store->request_later(next_poll_);
    }
  }

  void on_complete(const StoreStatus& news, std::chrono::nanoseconds time) {
    if (news.init_barrier == 0) {
      input_.note_init(time);
      log_debug("all ranks have called init_process_group, " + text_of(time) + " after the start");
    }
    if (std::exchange(is_anybody_missed_, false)) {
      log_info("all " + std::to_string(news.expected) + " ranks are in init_process_group now");
    }
  }

  void log_missing_ranks(const StoreStatus& news, std::chrono::nanoseconds time) {
    const std::string missing = go_by_nodes_
                                    ? describe_missing(news.arrived, nodes_, input_.rank_of)
                                    : count_of(news.expected - news.arrived.size(), "rank");
    if (!missing.empty()) {
      is_anybody_missed_ = true;
      log_warning("init_process_group waits for " + missing + ": " +
                  std::to_string(news.arrived.size()) + " of " + std::to_string(news.expected) +
                  " ranks are there, the first for " + text_of(time));
    }
  }

  ServiceInput input_;
  bool is_leader_ = false;
  std::vector<gang::NodePlace> nodes_;
  bool go_by_nodes_ = true;  ///< the ranks; else a rank table has given them
  Clock::time_point started_;
  Clock::time_point meeting_began_;
  std::chrono::seconds next_poll_ = kFirstPoll;
  bool is_anybody_missed_ = false;
};

}  // namespace

std::unique_ptr<Service> make_torch_store(const ServiceInput& input) {
  return std::make_unique<TorchStoreService>(input);
}

}  // namespace muster
