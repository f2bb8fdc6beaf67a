// Scenarios by chance.
#include "gang/protocol/simulation/simulation.hpp"

#include <algorithm>
#include <numeric>
#include <random>

namespace muster::gang::simulation {
namespace {

/// Draws the trouble of one scenario.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : random_(seed ^ 0x5ca1ab1eU) {}

  std::int64_t pick(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  milliseconds between(milliseconds least, milliseconds most) {
    return milliseconds(pick(least.count(), most.count()));
  }
  bool chance(double likely) { return std::uniform_real_distribution<double>()(random_) < likely; }

  Fault fault(int hosts, milliseconds longest_sleep) {
    Fault fault;
    fault.kind = static_cast<Fault::Kind>(pick(0, 8));
    // The leader is a single point of failure: most jobs should live to see more than that.
    fault.host = chance(0.08) ? 0 : static_cast<int>(pick(1, hosts - 1));
    fault.at = between(milliseconds(0), seconds(90));
    fault.lasts = between(milliseconds(100), chance(0.5) ? seconds(6) : seconds(40));
    if (fault.kind == Fault::Kind::Sleep) {
      fault.lasts = std::min(fault.lasts, longest_sleep);
    }
    if (chance(0.7)) {
      fault.returns_after = between(seconds(1), seconds(40));
    }
    return fault;
  }

 private:
  std::mt19937_64 random_;
};

/// The job is complete with the workers of the first `nodes` hosts, or of others that have as many.
void count_workers(Scenario& scenario, Draw& draw, int nodes, int hosts) {
  const bool is_even = draw.chance(0.5);
  for (int host = 0; host < hosts; ++host) {
    scenario.slots.push_back(is_even ? 2 : static_cast<int>(draw.pick(1, 3)));
  }
  scenario.config.job.total_slots = std::accumulate(scenario.slots.begin(), scenario.slots.begin() + nodes, 0);
  scenario.config.job.least_nodes = 1;
  scenario.config.job.most_nodes = std::max(hosts, *scenario.config.job.total_slots);
}

}  // namespace

Scenario random_scenario(std::uint64_t seed) {
  Draw draw(seed);
  Scenario scenario;
  scenario.seed = seed;
  const auto most = static_cast<int>(draw.pick(2, 6));
  const auto least = draw.chance(0.5) ? most : static_cast<int>(draw.pick(1, most));
  const auto hosts = std::max(3, most + static_cast<int>(draw.pick(0, 2)));
  GangConfig& config = scenario.config;
  config.job.job_id = "simulation";
  config.job.mode = "torchrun";
  config.job.least_nodes = least;
  config.job.most_nodes = most;
  scenario.grace = draw.chance(0.5) ? seconds(5) : seconds(30);
  config.options.timeout = seconds(60);
  config.options.last_call = draw.between(milliseconds(0), seconds(10));
  config.options.heartbeat_timeout = draw.chance(0.8) ? seconds(8) : seconds(3);
  config.options.restarts.max_restarts = static_cast<int>(draw.pick(0, 4));
  config.options.scale_up = draw.chance(0.5) ? ScaleUp::Now : ScaleUp::AtRestart;
  config.options.on_early_exit = draw.chance(0.2) ? OnEarlyExit::Fail : OnEarlyExit::Wait;
  if (draw.chance(0.2)) {
    config.options.early_exit_timeout = draw.between(milliseconds(100), seconds(20));
  }
  scenario.ranked = draw.chance(0.6) ? most : 0;
  scenario.has_ports = draw.chance(0.3);
  scenario.has_fences = draw.chance(0.5);
  scenario.fence_bytes = static_cast<std::size_t>(draw.chance(0.1) ? draw.pick(30'000, 90'000) : 0);
  if (draw.chance(0.25)) {
    count_workers(scenario, draw, most, hosts);
  }
  for (int host = 0; host < hosts; ++host) {
    const bool is_never = draw.chance(0.03);
    scenario.starts.push_back(
        is_never ? std::nullopt
                 : std::optional(draw.between(milliseconds(0), draw.chance(0.7) ? seconds(2) : seconds(70))));
  }
  for (auto count = draw.chance(0.15) ? 0 : draw.pick(1, 4); count > 0; --count) {
    scenario.faults.push_back(draw.fault(hosts, config.options.heartbeat_timeout * 3 / 2));
  }
  // An agent that is stopped while the network is cut cannot end its workers in time: a scenario has stopped agents
  // or a cut network, not both.
  const bool has_sleepers = draw.chance(0.3);
  std::erase_if(scenario.faults, [&](const Fault& fault) {
    const bool is_cut =
        fault.kind == Fault::Kind::CutOff || fault.kind == Fault::Kind::CutFrom || fault.kind == Fault::Kind::CutTo;
    return has_sleepers ? is_cut : fault.kind == Fault::Kind::Sleep;
  });
  scenario.failures = draw.chance(0.5) ? 0 : 0.2;
  scenario.stubborn = draw.chance(0.5) ? 0 : 0.5;
  scenario.late_inputs = draw.chance(0.3) ? 0.3 : 0;
  scenario.no_inputs = draw.chance(0.3) ? 0.1 : 0;
  scenario.stalls = draw.chance(0.2) ? 0.1 : 0;
  // Unkillable workers need a scenario without faults: a lost host could not report one.
  scenario.unkillable = scenario.faults.empty() && draw.chance(0.3) ? 0.2 : 0;
  scenario.port_failures = draw.chance(0.1) ? 0.3 : 0;
  scenario.run_time = draw.between(seconds(1), seconds(60));
  scenario.skew = draw.between(milliseconds(0), seconds(15));
  scenario.most_latency = draw.chance(0.7) ? milliseconds(5) : milliseconds(500);
  return scenario;
}

Scenario large_scenario(std::uint64_t seed, int hosts) {
  Draw draw(seed);
  Scenario scenario;
  scenario.seed = seed;
  GangConfig& config = scenario.config;
  config.job.job_id = "simulation";
  config.job.mode = "torchrun";
  config.job.most_nodes = hosts - 5;
  config.job.least_nodes = hosts - 10;
  scenario.grace = seconds(10);
  config.options.timeout = seconds(60);
  config.options.last_call = seconds(10);
  config.options.restarts.max_restarts = 3;
  scenario.ranked = draw.chance(0.5) ? config.job.most_nodes : 0;
  for (int host = 0; host < hosts; ++host) {
    scenario.starts.emplace_back(draw.between(milliseconds(0), draw.chance(0.99) ? seconds(2) : seconds(20)));
  }
  for (int i = 0; i < 4; ++i) {
    scenario.faults.push_back(draw.fault(hosts, seconds(10)));
    scenario.faults.back().host = static_cast<int>(draw.pick(1, hosts - 1));
  }
  scenario.failures = 0.5 / hosts;
  scenario.stubborn = 0.01;
  return scenario;
}

}  // namespace muster::gang::simulation
