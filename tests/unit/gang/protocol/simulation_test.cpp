// Whole jobs under chance: lost, late, half-open and reordered connections, agents that come late,
// crash and return, workers that fail or will not end. A failure prints its seed and the end of the
// log; SIMULATION_SEED=<number> repeats one.
#include "gang/protocol/simulation/simulation.hpp"

#include "gang/protocol/words.hpp"
#include "seeds.hpp"

#include <gtest/gtest.h>

namespace muster::gang::simulation {
namespace {

constexpr std::uint64_t kScenarios = 1'000;
constexpr std::uint64_t kLargeScenarios = 4;
constexpr int kManyAgents = 2'000;

/// Plays it, and again with a log when something is wrong.
Finding check(const Scenario& scenario) {
  Finding finding = play(scenario, /*keeps_log=*/false);
  if (finding.violations.empty()) {
    return finding;
  }
  finding = play(scenario, /*keeps_log=*/true);
  std::string text = "SIMULATION_SEED=" + std::to_string(scenario.seed) + "\n";
  for (const std::string& line : finding.log) {
    text += "  " + line + "\n";
  }
  for (const std::string& violation : finding.violations) {
    text += violation + "\n";
  }
  ADD_FAILURE() << text;
  return finding;
}

/// Plays one scenario for each seed, until one shows something wrong.
template <typename Look>
void for_many_seeds(std::uint64_t count, const Look& look) {
  for (const std::uint64_t seed : seeds_to_play("SIMULATION_SEED", count)) {
    if (testing::Test::HasFailure()) {
      return;
    }
    look(seed);
  }
}

TEST(Simulation, KeepsItsPromisesInEveryRandomJob) {
  for_many_seeds(kScenarios, [](std::uint64_t seed) { (void)check(random_scenario(seed)); });
}

TEST(Simulation, KeepsItsPromisesWithThousandsOfAgents) {
  for_many_seeds(kLargeScenarios, [](std::uint64_t seed) {
    const Finding finding = check(large_scenario(seed, kManyAgents));

    // Admitted, finished, a few words on how the wait goes; started and stopped with each attempt.
    const auto most = static_cast<std::uint64_t>(kManyAgents * (8 + 2 * finding.attempts));
    EXPECT_LE(finding.messages, most) << "SIMULATION_SEED=" << seed;
  });
}

TEST(Simulation, EndsAJobWithoutTroubleWithSuccess) {
  Scenario scenario = large_scenario(1, kManyAgents);
  scenario.faults.clear();
  scenario.failures = 0;
  scenario.config.job.most_nodes = scenario.config.job.least_nodes = kManyAgents;

  const Finding finding = check(scenario);

  EXPECT_EQ(finding.attempts, 1);
  ASSERT_EQ(finding.ends.size(), static_cast<std::size_t>(kManyAgents));
  for (const auto& end : finding.ends) {
    ASSERT_TRUE(end);
    EXPECT_EQ(words_of(*end), "succeeded 0");
  }
}

TEST(Simulation, GrowsByTheNodesThatComeLater) {
  for_many_seeds(kScenarios / 10, [](std::uint64_t seed) {
    Scenario scenario = large_scenario(seed, /*hosts=*/12);
    scenario.faults.clear();
    scenario.failures = 0;
    scenario.run_time = seconds(300);
    scenario.config.job.least_nodes = 1;
    scenario.config.job.most_nodes = 12;
    scenario.config.options.scale_up = ScaleUp::Now;
    scenario.config.options.restarts.max_restarts = 0;
    for (int host = 1; host < 12; ++host) {
      scenario.starts[static_cast<std::size_t>(host)] = seconds(5 * host);
    }

    const Finding finding = check(scenario);

    EXPECT_LE(finding.attempts, 6) << "a last call is 10 s";
    ASSERT_TRUE(finding.ends.front());
    EXPECT_EQ(words_of(*finding.ends.front()), "succeeded 0") << "SIMULATION_SEED=" << seed;
    EXPECT_EQ(finding.ends.front()->gang.nodes, 12) << "SIMULATION_SEED=" << seed;
  });
}

TEST(Simulation, BringsValuesTogetherWhileTheWorkersRun) {
  Scenario scenario = large_scenario(1, /*hosts=*/12);
  scenario.faults.clear();
  scenario.failures = 0;
  scenario.has_fences = true;
  scenario.fence_bytes = 60'000;  // several pieces

  const Finding finding = check(scenario);

  EXPECT_EQ(finding.attempts, 1);
  EXPECT_GE(finding.fences, static_cast<std::uint64_t>(scenario.config.job.least_nodes));
}

TEST(Simulation, IsTheSameForTheSameSeed) {
  const Finding one = play(random_scenario(42), /*keeps_log=*/true);
  const Finding other = play(random_scenario(42), /*keeps_log=*/true);

  EXPECT_FALSE(one.log.empty());
  EXPECT_EQ(one.log, other.log);
  EXPECT_EQ(one.events, other.events);
}

}  // namespace
}  // namespace muster::gang::simulation
