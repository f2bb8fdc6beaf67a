#pragma once

// Fleets of nodes with the differences that healthy nodes have: names, addresses, free memory, firmware.

#include "gang/preflight_values.hpp"
#include "preflight/host_facts.hpp"

#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace muster::preflight {

using Random = std::mt19937;

inline std::size_t draw(Random& random, std::size_t least, std::size_t most) {
  return std::uniform_int_distribution<std::size_t>(least, most)(random);
}

inline constexpr double kGiB = 1'073'741'824.0;

/// A node with eight GPUs and eight fast ports, as a fleet of one kind has them.
inline Facts healthy_node(Random& random) {
  const double scatter = std::uniform_real_distribution<double>(0.995, 1.005)(random);
  Facts facts;
  facts.texts = {
      {"kernel", "5.15.0-1066"},   {"muster", "0.1"},    {"Python", "3.11"},      {"torch", "2.7.1"},
      {"NCCL", "2.26.2"},          {"CUDA", "12.8.1"},   {"driver", "580.95.05"}, {"devices", "8 NVIDIA H100"},
      {"governor", "performance"}, {"folders", "answer"}};
  facts.numbers = {{"CPUs", 192},
                   {"memory", 2'000 * kGiB * scatter},
                   {"memory limit", kNoLimit},
                   {"/dev/shm", 1'000 * kGiB * scatter},
                   {"open files", 1'048'576},
                   {"processes", 8'000'000 * scatter},
                   {"locked memory", kNoLimit},
                   {"room for logs", kGiB * static_cast<double>(draw(random, 2, 900))},
                   {"room for the run", kGiB * static_cast<double>(draw(random, 1, 900))}};
  const bool is_cabled_first = draw(random, 0, 1) == 0;
  for (int i = 0; i < 8; ++i) {
    facts.sets["port"]["mlx5_" + std::to_string(i)] = "400 Gb/s";
    facts.sets["device"]["0000:" + std::to_string(10 + i) + ":00.0"] = "x16 32.0 GT/s PCIe";
  }
  facts.sets["port"]["mlx5_8"] = is_cabled_first ? "25 Gb/s" : "down";
  facts.sets["port"]["mlx5_9"] = is_cabled_first || draw(random, 0, 1) == 0 ? "down" : "25 Gb/s";
  facts.sets["interface"][draw(random, 0, 1) == 0 ? "eth0" : "ens1f0"] = "25 Gb/s, MTU 9000";
  return facts;
}

/// Adds the time on the node's clock, `ahead` seconds before the others': each node is asked at another time.
inline gang::ToldFacts tell(int node, Facts facts, Random& random, double ahead = 0) {
  constexpr double kBoot = 1'800'000'000;
  const double asked = 1'000 + std::uniform_real_distribution<double>(0, 300)(random);
  const double took = std::uniform_real_distribution<double>(0.001, 0.3)(random);
  const double read = std::uniform_real_distribution<double>(0, took)(random);
  const double skew = std::uniform_real_distribution<double>(-0.05, 0.05)(random);
  facts.numbers["clock"] = kBoot + asked + read + skew + ahead;
  return {NodeRank{node}, "gpu-" + std::to_string(node), "", to_line(facts), asked, asked + took};
}

using Change = std::function<void(Facts&)>;

/// `kinds` change the nodes in turn.
inline std::vector<gang::ToldFacts> make_fleet(std::size_t nodes, Random& random, const std::vector<Change>& kinds) {
  std::vector<gang::ToldFacts> fleet;
  for (std::size_t i = 0; i < nodes; ++i) {
    Facts facts = healthy_node(random);
    kinds[i % kinds.size()](facts);
    fleet.push_back(tell(static_cast<int>(i), std::move(facts), random));
  }
  return fleet;
}

/// A fleet of one kind, drawn from a thousand nodes that are made once.
inline std::vector<gang::ToldFacts> make_fleet(std::size_t nodes, Random& random) {
  static const std::vector<gang::ToldFacts> all = [] {
    Random own(1);
    return make_fleet(1'000, own, {[](Facts& /*facts*/) {}});
  }();
  const std::size_t first = draw(random, 0, all.size() - 1);
  std::vector<gang::ToldFacts> fleet;
  for (std::size_t i = 0; i < nodes; ++i) {
    fleet.push_back(all[(first + i) % all.size()]);
    fleet.back().node.value = static_cast<int>(i);
    fleet.back().host = "gpu-" + std::to_string(i);
  }
  return fleet;
}

}  // namespace muster::preflight
