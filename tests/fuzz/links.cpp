// Lines of --preflight links that strangers and broken nodes send: the input is cut into the lines of up to two nodes among
// healthy ones.
#include "base/display_text.hpp"
#include "fuzz.hpp"
#include "preflight/link_judge.hpp"

#include <string>
#include <vector>

namespace muster::fuzz {
namespace {

constexpr std::size_t kNodes = 24;
constexpr std::size_t kHostile = 2;

template <typename Line>
void check_text(std::string_view given, const std::optional<Line>& read) {
  require(!read || to_text(*read) == given, "a line is written as it was read");
}

void judge(const std::vector<std::string>& lines) {
  const gang::LinkRounds rounds = gang::make_link_rounds(kNodes);
  const gang::LinkResults healthy{1, {rounds.size(), gang::LinkResult{100, 1'000'000, 0}}};
  std::vector<gang::NodeLinkResults> told;
  for (std::size_t i = 0; i < kNodes; ++i) {
    told.push_back({NodeRank{static_cast<int>(i)}, i < kHostile ? "hostile" : "healthy",
                    i < lines.size() ? gang::parse_link_results(lines[i]) : healthy, "",
                    "10.0.0." + std::to_string(i)});
  }
  const gang::LinkVerdict verdict = preflight::judge_links(told, rounds);
  require(visible_line(verdict.mixed) == verdict.mixed && verdict.mixed.size() < 512, "a terminal shows the groups");
  for (const Outlier& outlier : verdict.outliers) {
    require(outlier.host == "hostile", "two nodes make no healthy one an outlier");
    require(visible_line(outlier.facts) == outlier.facts, "a terminal shows a difference");
    require(outlier.facts.size() < 512, "a difference fits into a message");
  }
  for (const NodeRank node : verdict.doubtful) {
    require(told.at(static_cast<std::size_t>(node.value)).host == "hostile", "two nodes make no healthy one a suspect");
  }
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(muster::fuzz::text_of(data, size));
  const std::size_t end = text.find('\n');
  std::vector<std::string> lines{text.substr(0, end)};
  if (end != std::string::npos) {
    lines.push_back(text.substr(end + 1));
  }
  for (const std::string& line : lines) {
    muster::fuzz::check_text(line, muster::gang::parse_link_listen(line));
    muster::fuzz::check_text(line, muster::gang::parse_link_port(line));
    muster::fuzz::check_text(line, muster::gang::parse_link_plan(line));
    muster::fuzz::check_text(line, muster::gang::parse_link_refusal(line));
    muster::fuzz::check_text(line, muster::gang::parse_link_results(line));
  }
  muster::fuzz::judge(lines);
  return 0;
}
