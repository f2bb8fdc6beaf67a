#include "preflight/judge.hpp"

#include "preflight/fleet.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <set>
#include <utility>

namespace muster::preflight {
namespace {

/// All of them in a soak.
const int kFleets = std::getenv("SOAK") != nullptr ? 100 : 8;  // NOLINT(concurrency-mt-unsafe)

struct Difference {
  const char* name;
  Change change;
  std::string said;
  double ahead = 0;
};

std::vector<Difference> differences() {
  const auto text = [](const char* name, const char* value) {
    return [name, value](Facts& facts) { facts.texts[name] = value; };
  };
  const auto number = [](const char* name, double value) {
    return [name, value](Facts& facts) { facts.numbers[name] = value; };
  };
  const auto nothing = [](Facts& /*facts*/) {};
  return {
      {"muster", text("muster", "0.0.9"), "muster 0.0.9 (0.1)"},
      {"Python", text("Python", "3.10"), "Python 3.10 (3.11)"},
      {"torch", text("torch", "2.6.0"), "torch 2.6.0 (2.7.1)"},
      {"no torch", [](Facts& facts) { facts.texts.erase("torch"); }, "torch none (2.7.1)"},
      {"NCCL", text("NCCL", "2.21.5"), "NCCL 2.21.5 (2.26.2)"},
      {"driver", text("driver", "570.86.15"), "driver 570.86.15 (580.95.05)"},
      {"no driver", [](Facts& facts) { facts.texts.erase("driver"); }, "driver none (580.95.05)"},
      {"a device less", text("devices", "7 NVIDIA H100"), "devices 7 NVIDIA H100 (8 NVIDIA H100)"},
      {"governor", text("governor", "powersave"), "governor powersave (performance)"},
      {"CPUs", number("CPUs", 96), "CPUs 96 (192)"},
      {"memory", number("memory", 1'750 * kGiB), "memory 1750.0 GiB ("},
      {"memory limit", number("memory limit", 64 * kGiB), "memory limit 64.0 GiB (no limit)"},
      {"shared memory", number("/dev/shm", kGiB / 16), "/dev/shm 64 MiB ("},
      {"open files", number("open files", 1'024), "open files 1024 (1048576)"},
      {"processes", number("processes", 4'096), "processes 4096 ("},
      {"locked memory", number("locked memory", kGiB / 128), "locked memory 8 MiB (no limit)"},
      {"folders", text("folders", "do not answer"), "folders do not answer (answer)"},
      {"room for logs", number("room for logs", kGiB / 64), "room for logs 16 MiB ("},
      {"clock behind", nothing, "clock -31 s", -31},
      {"clock ahead", nothing, "clock +3 s", 3},
      {"a slow port", [](Facts& facts) { facts.sets["port"]["mlx5_4"] = "200 Gb/s"; },
       "port mlx5_4 200 Gb/s (400 Gb/s)"},
      {"a port down", [](Facts& facts) { facts.sets["port"]["mlx5_4"] = "down"; }, "port mlx5_4 down (400 Gb/s)"},
      {"a port less", [](Facts& facts) { facts.sets["port"].erase("mlx5_4"); }, "port mlx5_4 missing (400 Gb/s)"},
      {"MTU",
       [](Facts& facts) {
         facts.sets["interface"] = {{"eth0", "25 Gb/s, MTU 1500"}};
       },
       "MTU 1500"},
      {"a narrow link", [](Facts& facts) { facts.sets["device"]["0000:13:00.0"] = "x8 32.0 GT/s PCIe"; },
       "device 0000:13:00.0 x8 32.0 GT/s PCIe (x16 32.0 GT/s PCIe)"},
  };
}

/// A fleet from 3 to 1,000 nodes, mostly a small one: a difference is less certain there.
std::size_t draw_size(Random& random) {
  const double drawn = std::pow(std::uniform_real_distribution<double>(0, 1)(random), 4);
  return static_cast<std::size_t>(3 * std::pow(1'000.9 / 3, drawn));
}

std::string described(const gang::PreflightVerdict& verdict) {
  std::string text = verdict.mixed;
  for (const Outlier& outlier : verdict.outliers) {
    text += "\n" + to_string(outlier.node) + " of " + std::to_string(outlier.others) + ": " + outlier.facts;
  }
  return text;
}

class PlantedDifference : public testing::TestWithParam<Difference> {};

TEST_P(PlantedDifference, IsNamedAloneInEachFleet) {
  Random random(7);
  for (int i = 0; i < kFleets; ++i) {
    const std::size_t nodes = draw_size(random);
    auto fleet = make_fleet(nodes, random);
    const std::size_t odd = draw(random, 1, nodes - 1);
    Facts facts = healthy_node(random);
    GetParam().change(facts);
    fleet[odd] = tell(static_cast<int>(odd), std::move(facts), random, GetParam().ahead);

    const auto verdict = judge(fleet);

    ASSERT_EQ(verdict.outliers.size(), 1U) << nodes << " nodes: " << described(verdict);
    const Outlier& outlier = verdict.outliers.front();
    EXPECT_EQ(outlier.node.value, static_cast<int>(odd));
    EXPECT_EQ(outlier.host, "gpu-" + std::to_string(odd));
    EXPECT_EQ(outlier.others, static_cast<int>(nodes) - 1);
    EXPECT_NE(outlier.facts.find(GetParam().said), std::string::npos) << outlier.facts;
    EXPECT_EQ(outlier.facts.find("), "), std::string::npos) << "it has one difference: " << outlier.facts;
    EXPECT_EQ(verdict.mixed, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Preflight, PlantedDifference, testing::ValuesIn(differences()), [](const auto& of) {
  std::string name = of.param.name;
  std::erase(name, ' ');
  return name;
});

TEST(Judge, NamesNobodyInHealthyFleets) {
  Random random(11);
  for (int i = 0; i < kFleets; ++i) {
    const auto verdict = judge(make_fleet(draw_size(random), random));
    ASSERT_EQ(described(verdict), "");
  }
}

TEST(Judge, NamesNobodyInFleetsOfSeveralKinds) {
  const std::vector<Change> kinds = {
      [](Facts& /*facts*/) {},
      [](Facts& facts) {
        facts.texts["kernel"] = "6.8.0-50";
        facts.texts["driver"] = "570.86.15";
        facts.texts["devices"] = "8 NVIDIA A100";
        facts.numbers["memory"] = 1'000 * kGiB;
        facts.numbers["CPUs"] = 128;
        for (auto& [name, rate] : facts.sets["port"]) {
          rate = "200 Gb/s";
        }
      },
      [](Facts& facts) {
        facts.texts["kernel"] = "6.8.0-60";
        facts.numbers["/dev/shm"] = 500 * kGiB;
        facts.sets["port"] = {};
      },
  };
  Random random(13);
  for (int i = 0; i < kFleets; ++i) {
    const std::size_t count = 2 + static_cast<std::size_t>(i) % 2;
    const auto verdict = judge(make_fleet(std::max<std::size_t>(draw_size(random), 2 * count), random,
                                          {kinds.begin(), kinds.begin() + static_cast<std::ptrdiff_t>(count)}));
    ASSERT_TRUE(verdict.outliers.empty()) << described(verdict);
    ASSERT_NE(verdict.mixed.find("driver 5"), std::string::npos) << described(verdict);
    ASSERT_EQ(verdict.mixed.find("kernel"), std::string::npos) << "that is no news: " << described(verdict);
  }
}

TEST(Judge, SaysHowManyNodesOfLargeGroupsHaveWhat) {
  Random random(17);
  const auto verdict =
      judge(make_fleet(8, random, {[](Facts& /*facts*/) {}, [](Facts& facts) { facts.texts["torch"] = "2.8"; }}));

  EXPECT_EQ(verdict.mixed, "torch 2.7.1 on 4 nodes and 2.8 on 4");
}

TEST(Judge, NamesUpToAnEighthOfTheNodes) {
  Random random(19);
  const auto judge_with = [&](std::size_t odd) {
    auto fleet = make_fleet(64, random);
    for (std::size_t i = 0; i < odd; ++i) {
      Facts facts = healthy_node(random);
      facts.numbers["CPUs"] = 96;
      fleet[(i * 3) + 1] = tell(static_cast<int>(i * 3) + 1, std::move(facts), random);
    }
    return judge(fleet).outliers;
  };

  const auto eight = judge_with(8);
  ASSERT_EQ(eight.size(), 8U);
  EXPECT_EQ(eight[1], (Outlier{NodeRank{4}, "gpu-4", 56, "CPUs 96 (192)"}));
  EXPECT_TRUE(judge_with(9).empty());
}

TEST(Judge, ComparesNodesWithinTheirRole) {
  Random random(23);
  auto fleet = make_fleet(7, random);
  for (std::size_t i = 4; i < fleet.size(); ++i) {
    Facts facts = healthy_node(random);
    facts.texts.erase("devices");
    facts.sets.clear();
    fleet[i] = tell(static_cast<int>(i), std::move(facts), random);
    fleet[i].role = "ps";
  }
  EXPECT_EQ(described(judge(fleet)), "");

  fleet.pop_back();
  fleet.back().text = to_line(healthy_node(random));
  EXPECT_EQ(described(judge(fleet)), "") << "of two nodes nobody is the odd one";
}

/// Changes a node of a healthy fleet.
std::vector<gang::ToldFacts> fleet_with(std::size_t nodes, std::size_t odd, const Change& change, Random& random) {
  auto fleet = make_fleet(nodes, random);
  Facts facts = healthy_node(random);
  change(facts);
  fleet[odd] = tell(static_cast<int>(odd), std::move(facts), random);
  return fleet;
}

TEST(Judge, IsSilentAboutWhatDiffersOnHealthyNodes) {
  const std::vector<std::pair<const char*, Change>> changes = {
      {"another kernel", [](Facts& facts) { facts.texts["kernel"] = "5.15.0-1050"; }},
      {"another toolkit beside the program's own", [](Facts& facts) { facts.texts["CUDA"] = "12.4.1"; }},
      {"no toolkit", [](Facts& facts) { facts.texts.erase("CUDA"); }},
      {"no governor, as on a virtual machine", [](Facts& facts) { facts.texts.erase("governor"); }},
      {"more memory", [](Facts& facts) { facts.numbers["memory"] *= 2; }},
      {"more CPUs", [](Facts& facts) { facts.numbers["CPUs"] *= 2; }},
      {"a limit of a login", [](Facts& facts) { facts.numbers["open files"] = 131'072; }},
      {"no limit", [](Facts& facts) { facts.numbers["open files"] = kNoLimit; }},
      {"fewer processes, and enough", [](Facts& facts) { facts.numbers["processes"] = 100'000; }},
      {"a port more", [](Facts& facts) { facts.sets["port"]["mlx5_10"] = "400 Gb/s"; }},
      {"an interface more", [](Facts& facts) { facts.sets["interface"]["eth7"] = "100 Gb/s, MTU 1500"; }},
      {"a limit of the memory that is there", [](Facts& facts) { facts.numbers["memory limit"] = 1'990 * kGiB; }},
      {"room, little and enough", [](Facts& facts) { facts.numbers["room for logs"] = 1.5 * kGiB; }},
  };
  Random random(53);
  for (const auto& [name, change] : changes) {
    const auto verdict = judge(fleet_with(9, 4, change, random), /*is_strict=*/true);
    EXPECT_EQ(described(verdict), "") << name;
    EXPECT_TRUE(verdict.unfit.empty()) << name;
  }
}

TEST(Judge, SaysASmallDifferenceBesideAnother) {
  Random random(59);
  const auto verdict = judge(fleet_with(
      9, 4,
      [](Facts& facts) {
        facts.texts["kernel"] = "5.15.0-1050";
        facts.texts["driver"] = "570.86.15";
      },
      random));

  ASSERT_EQ(verdict.outliers.size(), 1U);
  EXPECT_EQ(verdict.outliers.front().facts, "kernel 5.15.0-1050 (5.15.0-1066), driver 570.86.15 (580.95.05)");
  ASSERT_EQ(verdict.unfit.size(), 1U);
  EXPECT_EQ(verdict.unfit.front(), (Outlier{NodeRank{4}, "gpu-4", 8, "driver 570.86.15 (580.95.05)"}));
}

TEST(Judge, ComparesTheMTUOfInterfacesWithoutASpeed) {
  Random random(67);
  auto fleet = make_fleet(4, random);
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    Facts facts = healthy_node(random);
    facts.sets["interface"] = {{"eth0", i == 2 ? "MTU 1500" : "MTU 8900"}, {"eth1", "25 Gb/s, MTU 9000"}};
    fleet[i] = tell(static_cast<int>(i), std::move(facts), random);
  }
  const auto verdict = judge(fleet);

  ASSERT_EQ(verdict.outliers.size(), 1U);
  EXPECT_EQ(verdict.outliers.front().facts, "interface eth0 MTU 1500 (MTU 8900)");
}

/// A node 0 that only leads has no accelerators.
TEST(Judge, LeavesNode0AloneIfItIsAnotherMachine) {
  const Change head = [](Facts& facts) {
    for (const char* name : {"driver", "devices", "CUDA"}) {
      facts.texts.erase(name);
    }
    facts.numbers["memory"] /= 8;
    facts.numbers["/dev/shm"] /= 8;
    facts.numbers["CPUs"] = 16;
    facts.sets["port"].clear();
    facts.sets["device"].clear();
  };
  const auto driver = [](Facts& facts) { facts.texts["driver"] = "570.86.15"; };
  Random random(61);
  auto fleet = fleet_with(5, 0, head, random);
  EXPECT_EQ(described(judge(fleet)), "");
  EXPECT_EQ(judge(fleet, /*is_strict=*/true).unfit.size(), 1U);

  fleet[3] = fleet_with(5, 3, driver, random)[3];
  EXPECT_EQ(described(judge(fleet)), "\n3 of 3: driver 570.86.15 (580.95.05)") << "workers are compared all the same";

  const auto first = judge(fleet_with(5, 0, driver, random));
  EXPECT_EQ(described(first), "\n0 of 4: driver 570.86.15 (580.95.05)") << "it is the same machine";

  Facts facts = healthy_node(random);
  facts.numbers["CPUs"] = 16;
  fleet[0] = tell(0, std::move(facts), random, -40);
  EXPECT_EQ(described(judge(fleet)), "\n0 of 4: clock -40 s\n3 of 3: driver 570.86.15 (580.95.05)")
      << "its clock is one of the job's all the same";
}

TEST(Judge, FindsANodeUnfitByWhatTheJobNeeds) {
  std::set<std::string> unfit;
  Random random(71);
  for (const Difference& difference : differences()) {
    auto fleet = fleet_with(9, 4, difference.change, random);
    fleet[4] = tell(4, parse_facts(fleet[4].text), random, difference.ahead);
    const auto verdict = judge(fleet, /*is_strict=*/true);
    if (!verdict.unfit.empty()) {
      EXPECT_EQ(verdict.unfit, verdict.outliers) << difference.name;
      unfit.insert(difference.name);
    }
  }
  EXPECT_EQ(unfit, (std::set<std::string>{"a device less", "a port down", "a port less", "a slow port", "clock ahead",
                                          "clock behind", "driver", "folders", "no driver", "shared memory"}));

  const auto faster = [](Facts& facts) {
    for (auto& [name, rate] : facts.sets["port"]) {
      rate = "800 Gb/s";
    }
  };
  const auto verdict = judge(fleet_with(9, 4, faster, random), /*is_strict=*/true);
  EXPECT_EQ(verdict.outliers.size(), 1U);
  EXPECT_TRUE(verdict.unfit.empty()) << "a faster port does no harm";
}

TEST(Judge, LeavesOutWhatANodeDoesNotTell) {
  Random random(29);
  auto fleet = make_fleet(4, random);
  fleet[1].text = R"({"muster":"0.0.1","kernel":"5.15.0-1066"})";
  fleet[2].text = "";
  const auto verdict = judge(fleet);

  ASSERT_EQ(verdict.outliers.size(), 1U) << "an older version does not tell all facts: " << described(verdict);
  EXPECT_EQ(verdict.outliers.front(), (Outlier{NodeRank{1}, "gpu-1", 2, "muster 0.0.1 (0.1)"}));
}

TEST(Judge, SaysNothingOfATextThatANodeCannotFindOut) {
  const auto not_known = [](Facts& facts) {
    facts.texts["torch"] = kNotKnown;
    facts.texts["driver"] = kNotKnown;
  };
  Random random(79);
  const auto verdict = judge(fleet_with(9, 4, not_known, random), /*is_strict=*/true);
  EXPECT_EQ(described(verdict), "");
  EXPECT_TRUE(verdict.unfit.empty());
}

TEST(Judge, SaysNothingOfAClockThatItCouldNotMeasure) {
  Random random(31);
  auto fleet = make_fleet(4, random);
  Facts facts = healthy_node(random);
  fleet[2] = tell(2, std::move(facts), random, 5);
  ASSERT_EQ(judge(fleet).outliers.size(), 1U);
  fleet[2].answered += 20;  // it may have read its clock at the end

  EXPECT_EQ(described(judge(fleet)), "");
}

TEST(Judge, ComparesPortsWhateverTheirNames) {
  Random random(37);
  auto fleet = make_fleet(4, random);
  const auto renamed = [&](int down) {
    Facts facts = healthy_node(random);
    facts.sets["port"].clear();
    for (int i = 0; i < 8; ++i) {
      facts.sets["port"]["ibp" + std::to_string(i)] = i < down ? "down" : "400 Gb/s";
    }
    return facts;
  };
  fleet[3] = tell(3, renamed(0), random);
  EXPECT_EQ(described(judge(fleet)), "");

  fleet[3] = tell(3, renamed(1), random);
  ASSERT_EQ(judge(fleet).outliers.size(), 1U);
  EXPECT_EQ(judge(fleet).outliers.front().facts, "ports: 7 with 400 Gb/s (8 with 400 Gb/s)");
}

TEST(Judge, IsNotMovedByHostileFacts) {
  std::string many = R"({"port":{)";
  for (int i = 0; i < 100'000; ++i) {
    many += (i == 0 ? "\"p" : ",\"p") + std::to_string(i) + "\":\"400 Gb/s\"";
  }
  const std::vector<std::string> hostile = {
      std::string(1U << 20U, 'x'),
      many + "}}",
      std::string(4'000, '['),
      R"({"kernel":7,"memory":"NaN","CPUs":-5,"port":"down","device":[1,2],"interface":{"eth0":{"a":1}}})",
      R"({"memory":1e999})",
      R"({"memory":NaN})",
      "null",
      "\xff\xfe",
  };
  Random random(41);
  for (const std::string& text : hostile) {
    auto fleet = make_fleet(16, random);
    fleet[5].text = text;
    const auto verdict = judge(fleet);
    EXPECT_EQ(described(verdict), "") << text.substr(0, 80);
  }
}

TEST(Judge, ShowsWhatATerminalWouldActUpon) {
  Random random(43);
  auto fleet = make_fleet(16, random);
  Facts facts = healthy_node(random);
  facts.texts["driver"] = "1\x1b[2J\n2";
  fleet[5] = tell(5, facts, random);
  fleet[6] = fleet[5];
  fleet[6].node.value = 6;
  fleet[6].text.replace(fleet[6].text.find("\\\\x1b"), 5, "\\u001b");
  const auto verdict = judge(fleet);

  ASSERT_EQ(verdict.outliers.size(), 2U);
  for (const Outlier& outlier : verdict.outliers) {
    EXPECT_EQ(outlier.facts, "driver 1\\x1b[2J\\n2 (580.95.05)");
  }
}

TEST(Judge, PrintsHowLongAThousandNodesTake) {
  Random random(47);
  const auto fleet = make_fleet(1'000, random);
  const std::clock_t before = std::clock();
  const auto verdict = judge(fleet);
  const double took = 1'000.0 * static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  std::printf("1,000 nodes are judged in %.1f ms of CPU time\n", took);
  EXPECT_TRUE(verdict.outliers.empty());
}

}  // namespace
}  // namespace muster::preflight
