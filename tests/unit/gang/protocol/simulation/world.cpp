// The clock: what happens when, until nothing happens any more.
#include "gang/protocol/simulation/world.hpp"

namespace muster::gang::simulation {

World::World(const Scenario& scenario, bool keeps_log)
    : scenario_(scenario), keeps_log_(keeps_log), random_(scenario.seed) {
  hosts_.resize(scenario_.starts.size());
  connections_.emplace_back();  // kOwnLink is no connection
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (const auto start = scenario_.starts[i]) {
      at(kBegin + *start, [this, i] { start_agent(i); });
    }
  }
  for (const Fault& fault : scenario_.faults) {
    at(kBegin + fault.at, [this, fault] { strike(fault); });
  }
}

Finding World::run() {
  while (!queue_.empty() && finding_.violations.empty()) {
    std::pop_heap(queue_.begin(), queue_.end());
    Timed next = std::move(queue_.back());
    queue_.pop_back();
    now_ = std::max(now_, next.at);
    if (now_ - kBegin > kBound || ++finding_.events > kMostEvents) {
      violate("it hangs: " + describe_the_living());
      break;
    }
    next.what();
  }
  judge();
  finding_.simulated_seconds = std::chrono::duration<double>(now_ - kBegin).count();
  finding_.log.assign(log_.begin(), log_.end());
  for (const Host& host : hosts_) {
    finding_.ends.push_back(host.end);
  }
  return std::move(finding_);
}

void World::at(Instant moment, std::function<void()> what) {
  queue_.push_back({std::max(moment, now_), ++order_, std::move(what)});
  std::push_heap(queue_.begin(), queue_.end());
}

std::int64_t World::pick(std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
}

std::chrono::microseconds World::latency() {
  return std::chrono::microseconds(pick(50, 1'000 * scenario_.most_latency.count()));
}

void World::violate(const std::string& what) {
  log("VIOLATION: ", what);
  finding_.violations.push_back(what);
}

Finding play(const Scenario& scenario, bool keeps_log) {
  return World(scenario, keeps_log).run();
}

}  // namespace muster::gang::simulation
