// Seeds of tests with random inputs. A test run of one commit always plays the same ones; only a soak draws new ones.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace muster {

/// The seeds to play: the one that the environment names in `variable`, to repeat a failure; else `count` of them, from 1 on
/// or, where SOAK is set, from a random one on, and those of tests/seeds.txt for this variable.
inline std::vector<std::uint64_t> seeds_to_play(const std::string& variable, std::uint64_t count) {
  if (const char* const wanted = std::getenv(variable.c_str())) {  // NOLINT(concurrency-mt-unsafe)
    return {std::strtoull(wanted, nullptr, 10)};
  }
  std::vector<std::uint64_t> seeds;
  const bool is_soak = std::getenv("SOAK") != nullptr;  // NOLINT(concurrency-mt-unsafe)
  const std::uint64_t first = is_soak ? std::random_device{}() : 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    seeds.push_back(first + i);
  }
  std::ifstream file(MUSTER_TEST_SEEDS);
  for (std::string name; file >> name;) {
    std::uint64_t seed = 0;
    if (name == variable && file >> seed) {
      seeds.push_back(seed);
    }
  }
  return seeds;
}

}  // namespace muster
