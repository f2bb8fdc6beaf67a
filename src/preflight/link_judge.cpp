// Compares the links of each node with those between the others.
#include "preflight/link_judge.hpp"

#include "base/text.hpp"
#include "gang/preflight_values.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace muster::preflight {
namespace {

using gang::LinkResult;

/// Rounds in which a node must have measured to be judged: of a single bad link, either end may be the reason.
constexpr std::size_t kFewestLinks = 2;

/// The link of a pair: the worse one of what both ends have told. Empty: one of them has no result.
struct Link {
  gang::LinkPair pair;
  std::optional<LinkResult> result;
};

/// A value of links that is compared.
struct Quality {
  const char* name;
  int LinkResult::*value;
  bool (*is_bad)(double own, double usual);
  bool is_more_better;
  std::string (*describe)(double value);
};

bool is_slow(double own, double usual) {
  constexpr double kSlow = 0.25;
  return own < usual * kSlow;
}

bool is_far(double own, double usual) {
  constexpr double kTimes = 4;
  constexpr double kMore = 1'000;                                   // microseconds
  return usual > 0 && own > usual * kTimes && own > usual + kMore;  // 0: not known
}

bool is_lossy(double own, double usual) {
  constexpr double kTimes = 10;
  constexpr double kFloor = 10'000;  // of a million
  return own > usual * kTimes && own > kFloor;
}

std::string throughput_text(double kilobits) {
  constexpr double kMega = 1e3;
  constexpr double kGiga = 1e6;
  return kilobits < kGiga / 10 ? format_seconds(kilobits / kMega) + " Mb/s"
                               : format_seconds(kilobits / kGiga) + " Gb/s";
}

std::string latency_text(double microseconds) {
  return format_seconds(microseconds / 1e3) + " ms";
}

std::string loss_text(double of_million) {
  return format_seconds(of_million / 1e4) + " %";
}

constexpr std::array kQualities = {Quality{"link latency", &LinkResult::latency, is_far, false, latency_text},
                                   Quality{"link loss", &LinkResult::loss, is_lossy, false, loss_text},
                                   Quality{"link throughput", &LinkResult::throughput, is_slow, true, throughput_text}};

/// The links between all nodes, and their places in that list by node.
struct Links {
  std::vector<Link> all;
  std::vector<std::vector<std::size_t>> of_node;
};

std::optional<LinkResult> result_at(const gang::ToldLinks& node, std::size_t round) {
  return round < node.results->rounds.size() ? node.results->rounds[round] : std::nullopt;
}

std::optional<LinkResult> worse_of(const std::optional<LinkResult>& one, const std::optional<LinkResult>& other) {
  return one && other
             ? std::optional(LinkResult{std::max(one->latency, other->latency),
                                        std::min(one->throughput, other->throughput), std::max(one->loss, other->loss)})
             : std::nullopt;
}

/// Nothing where one of both nodes has told nothing.
void add_link(Links& links, const std::vector<gang::ToldLinks>& told, const gang::LinkPair& pair, std::size_t round) {
  const gang::ToldLinks& one = told.at(pair.connects);
  const gang::ToldLinks& other = told.at(pair.listens);
  if (!one.results || !other.results) {
    return;
  }
  links.of_node[pair.connects].push_back(links.all.size());
  links.of_node[pair.listens].push_back(links.all.size());
  links.all.push_back({pair, worse_of(result_at(one, round), result_at(other, round))});
}

Links links_of(const std::vector<gang::ToldLinks>& told, const gang::LinkRounds& rounds) {
  Links links{{}, std::vector<std::vector<std::size_t>>(told.size())};
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    for (const gang::LinkPair& pair : rounds[round]) {
      add_link(links, told, pair, round);
    }
  }
  return links;
}

bool has_node(const Link& link, std::size_t node) {
  return link.pair.connects == node || link.pair.listens == node;
}

double value_of(const Link& link, const Quality& quality) {
  return (*link.result).*quality.value;
}

std::vector<double> own_values(const Links& links, const Quality& quality, std::size_t node) {
  std::vector<double> values;
  for (const std::size_t at : links.of_node[node]) {
    if (links.all[at].result) {
      values.push_back(value_of(links.all[at], quality));
    }
  }
  return values;
}

std::vector<double> values_without(const Links& links, const Quality& quality, std::size_t node) {
  std::vector<double> values;
  for (const Link& link : links.all) {
    if (link.result && !has_node(link, node)) {
      values.push_back(value_of(link, quality));
    }
  }
  return values;
}

/// Empty: no link has a result.
std::optional<double> best_of(const Links& links, const Quality& quality) {
  std::optional<double> best;
  for (const Link& link : links.all) {
    const double value = link.result ? value_of(link, quality) : 0;
    const bool is_known = link.result && (value > 0 || quality.value != &LinkResult::latency);
    if (is_known) {
      best = !best ? value : quality.is_more_better ? std::max(*best, value) : std::min(*best, value);
    }
  }
  return best;
}

std::string in_rounds(std::size_t bad, std::size_t all) {
  return " in " + std::to_string(bad) + " of " + count_of(all, "round");
}

/// "link throughput 0.90 Gb/s (24.00 Gb/s) in 6 of 6 rounds"; empty: it is as that of the others. `best`: of all links.
std::string describe_bad(const Links& links, const Quality& quality, std::size_t node, double best) {
  const std::vector<double> own = own_values(links, quality, node);
  const auto are_bad = [&](double usual) {
    return std::ranges::all_of(own, [&](double value) { return quality.is_bad(value, usual); });
  };
  if (own.size() < kFewestLinks || !are_bad(best)) {  // most nodes: what is usual takes long to find
    return {};
  }
  const std::vector<double> others = values_without(links, quality, node);
  const double usual = others.empty() ? 0 : gang::median_of(others);
  const auto bad = std::ranges::count_if(others, [&](double value) { return quality.is_bad(value, usual); });
  constexpr std::size_t kShare = 4;  // where more links are as bad, nothing is usual
  if (others.empty() || !are_bad(usual) || static_cast<std::size_t>(bad) * kShare > others.size()) {
    return {};
  }
  return std::string(quality.name) + " " + quality.describe(gang::median_of(own)) + " (" + quality.describe(usual) +
         ")" + in_rounds(own.size(), links.of_node[node].size());
}

/// True where nobody has reached the node, and most of the others have reached each other.
bool is_out_of_reach(const Links& links, std::size_t node) {
  const auto& own = links.of_node[node];
  const auto is_measured = [](const Link& link) { return link.result.has_value(); };
  if (own.size() < kFewestLinks ||
      std::ranges::any_of(own, [&](std::size_t at) { return is_measured(links.all[at]); })) {
    return false;
  }
  const auto measured = static_cast<std::size_t>(std::ranges::count_if(links.all, is_measured));
  return 2 * measured > links.all.size() - own.size();
}

/// Empty: its links are as those of the others.
std::string describe_links_of(const Links& links, const std::vector<std::optional<double>>& best, std::size_t node) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < best.size(); ++i) {
    if (std::string text = best[i] ? describe_bad(links, kQualities[i], node, *best[i]) : ""; !text.empty()) {
      texts.push_back(std::move(text));
    }
  }
  if (is_out_of_reach(links, node)) {
    const std::size_t rounds = links.of_node[node].size();
    texts.push_back("links do not answer" + in_rounds(rounds, rounds));
  }
  return join(texts, ", ");
}

/// The kind of most nodes: a head node may have a slow network card, and workers of another role may need none.
std::string usual_kind(const std::vector<gang::ToldLinks>& told) {
  std::map<std::string, std::size_t> counts;
  for (const gang::ToldLinks& node : told) {
    ++counts[node.kind];
  }
  const auto most = std::ranges::max_element(counts, {}, [](const auto& kind) { return kind.second; });
  return most == counts.end() ? "" : most->first;
}

}  // namespace

std::vector<Outlier> judge_links(const std::vector<gang::ToldLinks>& told, const gang::LinkRounds& rounds) {
  constexpr std::size_t kShare = 8;
  const Links links = links_of(told, rounds);
  std::vector<std::optional<double>> best;
  std::ranges::transform(kQualities, std::back_inserter(best),
                         [&](const Quality& quality) { return best_of(links, quality); });
  const std::string kind = usual_kind(told);
  std::vector<Outlier> outliers;
  for (std::size_t i = 0; i < told.size(); ++i) {
    if (std::string text = told[i].kind == kind ? describe_links_of(links, best, i) : ""; !text.empty()) {
      outliers.push_back({told[i].node, told[i].host, 0, std::move(text)});
    }
  }
  if (outliers.size() > std::max<std::size_t>(1, told.size() / kShare)) {
    return {};
  }
  for (Outlier& outlier : outliers) {
    outlier.others = static_cast<int>(told.size() - outliers.size());
  }
  return outliers;
}

}  // namespace muster::preflight
