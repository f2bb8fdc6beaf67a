// Facts that strangers and broken nodes tell: the input is cut into the lines of up to 64 nodes among healthy ones.
#include "base/display_text.hpp"
#include "fuzz.hpp"
#include "preflight/host_facts.hpp"
#include "preflight/judge.hpp"

#include <string>
#include <vector>

namespace muster::fuzz {
namespace {

constexpr std::size_t kMostNodes = 64;
constexpr std::size_t kHealthy = 8;
constexpr const char* kHealthyFacts =
    R"({"kernel":"6.1","muster":"1","memory":1e12,"clock":1.8e9,"port":{"mlx5_0":"400 Gb/s"}})";

void check_line(std::string_view line) {
  const preflight::Facts facts = preflight::parse_facts(line);
  const std::string written = preflight::to_line(facts);
  require(written.size() <= preflight::kMostLineBytes, "facts fit into their line");
  require(visible_line(written) == written, "a terminal shows a line of facts");
  for (const preflight::FactRow& row : preflight::fact_rows()) {
    const std::string text = preflight::describe_fact(row, facts);
    require(visible_line(text) == text, "a terminal shows a fact");
  }
}

void check_outliers(const std::vector<Outlier>& outliers, std::size_t nodes) {
  for (const Outlier& outlier : outliers) {
    require(outlier.host != "healthy" || nodes > 2 * kHealthy - 1, "a few nodes make no healthy one an outlier");
    require(visible_line(outlier.facts) == outlier.facts, "a terminal shows a difference");
    require(outlier.facts.size() < 2'048, "a difference fits into a message");
  }
}

void judge(std::string_view lines) {
  std::vector<gang::ToldFacts> told;
  for (std::size_t i = 0; i < kHealthy; ++i) {
    told.push_back({NodeRank{static_cast<int>(i)}, "healthy", "", kHealthyFacts, 10, 10.1});
  }
  while (!lines.empty() && told.size() < kMostNodes) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string line(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
    check_line(line);
    told.push_back({NodeRank{static_cast<int>(told.size())}, "other", "", line, 10, 10.1});
  }
  for (const bool is_strict : {false, true}) {
    const auto verdict = preflight::judge(told, is_strict);
    require(visible_line(verdict.mixed) == verdict.mixed, "a terminal shows the groups");
    require(verdict.unfit.size() <= verdict.outliers.size(), "an unfit node is an outlier");
    for (const auto& outliers : {verdict.outliers, verdict.unfit}) {
      check_outliers(outliers, told.size());
    }
  }
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::judge(muster::fuzz::text_of(data, size));
  return 0;
}
