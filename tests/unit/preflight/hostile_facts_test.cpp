// A leader that judges real messages: what a stranger or a broken node tells as its facts changes no verdict, and nothing
// of it reaches a terminal.
#include "base/display_text.hpp"
#include "base/json.hpp"
#include "gang/protocol/leader_scenario.hpp"
#include "preflight/fleet.hpp"
#include "preflight/judge.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster::preflight {
namespace {

using gang::LeaderScenario;

constexpr int kNodes = 16;
constexpr gang::LinkId kOdd = 5;
constexpr gang::LinkId kHostile = 9;

std::string many_ports() {
  constexpr int kPorts = 1'000'000;
  std::string text = R"({"port":{)";
  for (int i = 0; i < kPorts; ++i) {
    text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":"400 Gb/s")";
  }
  return text + "}}";
}

/// Texts of a `status_report`, as they stand in its JSON.
std::vector<std::string> hostile_texts() {
  const auto quoted = [](const std::string& text) { return json::serialize(json::value(json::string(text))); };
  return {
      quoted(std::string(1U << 20U, 'x')),
      quoted(many_ports()),
      quoted(std::string(100'000, '[')),
      quoted(R"({"memory":NaN,"CPUs":-1e308,"clock":1e308,"processes":1e999})"),
      quoted("{\"driver\":\"\x1b]0;owned\x07\x1b[2J\r\n\",\"devices\":\"\\u001b[31m\"}"),
      quoted(R"({"driver":"580.95.05","muster":"0.1","memory":{"a":1},"port":[[[[1]]]]})"),
      quoted("\xff\xfe\x00"),
      "7",
      "null",
      "\"\\u0000\\ud800\"",
      R"({"driver":"1"})",
  };
}

/// The bytes of an answer as the network brings them. False: the link is cut.
bool receive_answer(LeaderScenario& scenario, gang::LinkId link, const std::string& text) {
  const auto message = gang::decode(R"({"type":"status_report","number":0,"missing":0,"text":)" + text + "}");
  if (message) {
    (void)scenario.receive(link, *message);
  }
  return message.has_value();
}

TEST(HostileFacts, ChangeNoVerdictAndNoTerminal) {
  for (const std::string& hostile : hostile_texts()) {
    gang::GangConfig config = gang::job_of(kNodes);
    config.judge_facts = [](const auto& told) { return judge(told); };
    LeaderScenario scenario = gang::running(config, kNodes);
    (void)scenario.wait(gang::seconds(1));
    Random random(73);
    for (gang::LinkId link = 0; link < kNodes; ++link) {
      Facts facts = healthy_node(random);
      facts.numbers.erase("clock");
      facts.texts["driver"] = link == kOdd ? "570.86.15" : facts.texts["driver"];
      const bool is_hostile = link == kHostile;
      const std::string text = json::serialize(json::value(json::string(to_line(facts))));
      EXPECT_TRUE(receive_answer(scenario, link, is_hostile ? hostile : text) || is_hostile);
    }
    (void)scenario.wait(gang::seconds(20));

    std::string named;
    for (const std::string& line : scenario.announced) {
      EXPECT_EQ(visible_line(line), line);
      EXPECT_LT(line.size(), 1'000U);
      named += line.starts_with("node 9 ") ? "" : line + "\n";  // it may be named itself: it does differ
    }
    EXPECT_TRUE(named.starts_with("node 5 (host-f) differs from 1")) << named << hostile.substr(0, 80);
    EXPECT_TRUE(named.ends_with(" others: driver 570.86.15 (580.95.05)\n")) << named << hostile.substr(0, 80);
  }
}

}  // namespace
}  // namespace muster::preflight
