// The service of PyTorch's store, and its messages about ranks that are missing or wait. The leader listens at the
// workers' port before any node is told to start: no worker comes too early, and no other program takes the port.
#include "services/torch_store/torch_store_service.hpp"

#include "base/log.hpp"
#include "base/ranks.hpp"
#include "base/text.hpp"
#include "services/services.hpp"

#include <chrono>
#include <map>
#include <set>
#include <utility>

namespace muster {

// Nodes with the same address, such as those of a test on one machine, count as one.

namespace {

/// The ranks at one address.
struct Place {
  std::set<int> missing;    ///< all of them at first
  std::size_t unknown = 0;  ///< ranks that have arrived, but whose numbers are not known
};

using Places = std::map<std::string, Place, decltype(&is_before)>;  ///< by address

Places find_places(const std::vector<gang::NodePlace>& nodes) {
  Places places(is_before);
  int next = 0;
  for (const gang::NodePlace& node : nodes) {
    for (int i = 0; i < node.slots; ++i) {
      places[node.address].missing.insert(next++);
    }
  }
  return places;
}

std::string describe_ranks_of(const std::set<int>& ranks) {
  return describe_ranks(std::vector<int>(ranks.begin(), ranks.end()));
}

}  // namespace

std::string describe_missing(const std::vector<store::Process>& arrived, const std::vector<gang::NodePlace>& nodes,
                             const ServiceHost& host) {
  Places places = find_places(nodes);
  const std::string here = nodes.empty() ? std::string() : nodes.front().address;
  for (const store::Process& process : arrived) {
    Place& place = places[is_from(process, here) ? here : process.address];
    const auto rank = rank_of_process(process, here, host);
    if (!rank || place.missing.erase(*rank) == 0) {
      ++place.unknown;
    }
  }
  std::set<int> missing;
  std::vector<std::string> words;
  for (auto& [address, place] : places) {
    if (place.unknown == 0) {
      missing.merge(place.missing);
    } else if (place.unknown < place.missing.size()) {
      words.push_back(std::to_string(place.missing.size() - place.unknown) + " of " + describe_ranks_of(place.missing) +
                      " (" + address + ")");
    }
  }
  if (!missing.empty()) {
    words.insert(words.begin(), describe_ranks_of(missing));
  }
  return join(words, " and ");
}

// Names ranks if their pids are known, else the number of clients of each address.

namespace {

/// Most bytes of a key in a message.
constexpr std::size_t kMostShown = 200;

std::string describe_clients(const store::AwaitedKey& awaited, const std::string& here, const ServiceHost& host) {
  std::set<int> ranks;
  std::map<std::string, std::size_t> others;
  for (const store::Process& process : awaited.processes) {
    if (const auto rank = rank_of_process(process, here, host)) {
      ranks.insert(*rank);
    } else {
      ++others[process.address];
    }
  }
  std::vector<std::string> words;
  if (!ranks.empty()) {
    words.push_back(describe_ranks_of(ranks));
  }
  for (const auto& [address, count] : others) {
    words.push_back(count_of(count, "client") + " of " + address);
  }
  if (awaited.clients > awaited.processes.size()) {
    words.push_back(std::to_string(awaited.clients - awaited.processes.size()) + " more");
  }
  return join(words, " and ");
}

}  // namespace

std::string describe_awaited(const store::AwaitedKeys& awaited, const std::string& here, const ServiceHost& host) {
  std::vector<std::string> words;
  for (const store::AwaitedKey& one : awaited.keys) {
    words.push_back("'" + one_line(one.key, kMostShown) + "'" + (words.empty() ? " was waited for by " : " by ") +
                    describe_clients(one, here, host));
  }
  if (words.empty()) {
    return {};
  }
  return "in the store of the ranks " + join(words, ", ") + (awaited.are_all ? "" : ", and others");
}

namespace {

/// Time from the arrival of the first rank to the first message about missing ranks; doubled after each message.
constexpr std::chrono::seconds kFirstReport{60};

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
      nodes_ = input_.host->nodes();
      StoreJob job{static_cast<std::size_t>(plan.world_size), {}};
      for (const gang::NodePlace& node : nodes_) {
        job.addresses.push_back(node.address);
      }
      for (std::size_t i = 0; i < plan.workers.size(); ++i) {
        go_by_nodes_ = go_by_nodes_ && plan.workers[i].global_rank.value == static_cast<int>(i);
      }
      started_ = Clock::now();
      input_.store->serve(std::move(job), {guarded([this](const StoreStatus& status) { follow(status); }),
                                           guarded([this](const Error& error) { report_failure(error); })});
    }
    return std::optional<PlanAdditions>(std::in_place);
  }

  /// The store serves on for workers of other nodes. It ends with the job, or when the next attempt listens.
  void stop() override {
    if (is_leader_) {
      input_.store->forget_events();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  void follow(const StoreStatus& status) {
    const auto now = Clock::now();
    if (status.is_complete) {
      on_complete(status, now - started_);
    } else if (status.arrived.empty()) {
      meeting_began_ = now;
      next_poll_ = kFirstReport;
      input_.store->request_status_after(next_poll_);
    } else {
      log_missing_ranks(status, now - meeting_began_);
      next_poll_ *= 2;
      input_.store->request_status_after(next_poll_);
    }
  }

  void on_complete(const StoreStatus& status, std::chrono::nanoseconds time) {
    if (status.init_barrier == 0) {
      input_.host->note_init(time);
      log_debug("all ranks have called init_process_group, " + text_of(time) + " after the start");
    }
    if (std::exchange(has_missing_ranks_, false)) {
      log_info("all " + std::to_string(status.expected) + " ranks are in init_process_group now");
    }
  }

  void log_missing_ranks(const StoreStatus& status, std::chrono::nanoseconds time) {
    const std::string missing = go_by_nodes_ ? describe_missing(status.arrived, nodes_, *input_.host)
                                             : count_of(status.expected - status.arrived.size(), "rank");
    if (!missing.empty()) {
      has_missing_ranks_ = true;
      log_warning("init_process_group waits for " + missing + ": " + std::to_string(status.arrived.size()) + " of " +
                  std::to_string(status.expected) + " ranks are there, the first for " + text_of(time));
    }
  }

  ServiceInput input_;
  bool is_leader_ = false;
  std::vector<gang::NodePlace> nodes_;
  bool go_by_nodes_ = true;  ///< ranks follow the nodes; false: a rank table gives them
  Clock::time_point started_;
  Clock::time_point meeting_began_;
  std::chrono::seconds next_poll_ = kFirstReport;
  bool has_missing_ranks_ = false;
};

}  // namespace

std::unique_ptr<Service> make_torch_store(const ServiceInput& input) {
  return std::make_unique<TorchStoreService>(input);
}

}  // namespace muster
