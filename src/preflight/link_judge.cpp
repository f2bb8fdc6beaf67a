// Compares the links of each node with those between the others.
#include "preflight/link_judge.hpp"

#include "base/text.hpp"
#include "gang/preflight_values.hpp"
#include "preflight/host_facts.hpp"

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

/// A node is judged by at least so many known links, and half of those planned: a single bad link may be the other
/// end's fault.
constexpr std::size_t kFewestLinks = 2;
/// If more than a quarter of the links without a node are as bad, there is no usual value to compare with.
constexpr std::size_t kBadShare = 4;

/// The link of a pair: the worse one of what both ends have told, or silent if both have said so. Else it is not known.
struct Link {
  gang::LinkPair pair;
  std::optional<LinkResult> result{};

  bool has(std::size_t node) const { return pair.connects == node || pair.listens == node; }
  bool is_measured() const { return result && !result->is_silent; }
};

/// A value of links that is compared.
struct Quality {
  const char* name;
  std::optional<double> (*value_of)(const Link& link);
  bool (*is_bad)(double own, double usual);
  bool is_more_better;
  std::string (*describe)(double value);
};

std::optional<double> silence_of(const Link& link) {
  return link.result ? std::optional(link.result->is_silent ? 1.0 : 0.0) : std::nullopt;
}

std::optional<double> latency_of(const Link& link) {
  const bool is_known = link.is_measured() && link.result->latency > 0;
  return is_known ? std::optional<double>(link.result->latency) : std::nullopt;
}

std::optional<double> throughput_of(const Link& link) {
  return link.is_measured() ? std::optional<double>(link.result->throughput) : std::nullopt;
}

std::optional<double> loss_of(const Link& link) {
  return link.is_measured() ? std::optional<double>(link.result->loss) : std::nullopt;
}

bool is_more(double own, double usual) {
  return own > usual;
}

bool is_slow(double own, double usual) {
  constexpr double kSlow = 0.25;
  return own < usual * kSlow;
}

bool is_far(double own, double usual) {
  constexpr double kTimes = 4;
  constexpr double kMore = 1'000;  // microseconds
  return own > usual * kTimes && own > usual + kMore;
}

bool is_lossy(double own, double usual) {
  constexpr double kTimes = 10;
  constexpr double kFloor = 10'000;  // of a million
  return own > usual * kTimes && own > kFloor;
}

std::string throughput_text(double kilobits) {
  constexpr double kMega = 1e3;
  constexpr double kGiga = 1e6;
  return kilobits < kGiga / 10 ? two_decimals(kilobits / kMega) + " Mb/s" : two_decimals(kilobits / kGiga) + " Gb/s";
}

std::string latency_text(double microseconds) {
  return two_decimals(microseconds / 1e3) + " ms";
}

std::string loss_text(double of_million) {
  return two_decimals(of_million / 1e4) + " %";
}

std::string silence_text(double silence) {
  return silence > 0 ? "no answer" : "an answer";
}

constexpr std::array kQualities = {Quality{"link latency", latency_of, is_far, false, latency_text},
                                   Quality{"link loss", loss_of, is_lossy, false, loss_text},
                                   Quality{"link throughput", throughput_of, is_slow, true, throughput_text},
                                   Quality{"links", silence_of, is_more, false, silence_text}};

/// The links between all nodes, and their places in that list by node.
struct Links {
  std::vector<Link> all{};
  std::vector<std::vector<std::size_t>> of_node{};

  std::size_t enough_of(std::size_t node) const { return std::max(kFewestLinks, (of_node[node].size() + 1) / 2); }
};

std::optional<LinkResult> result_at(const gang::NodeLinkResults& node, std::size_t round) {
  return node.results && round < node.results->rounds.size() ? node.results->rounds[round] : std::nullopt;
}

std::optional<LinkResult> worse_of(const std::optional<LinkResult>& one, const std::optional<LinkResult>& other) {
  if (!one || !other || one->is_silent != other->is_silent) {
    return std::nullopt;
  }
  return LinkResult{std::max(one->latency, other->latency), std::min(one->throughput, other->throughput),
                    std::max(one->loss, other->loss), one->is_silent};
}

Links links_of(const std::vector<gang::NodeLinkResults>& told, const gang::LinkRounds& rounds) {
  Links links{{}, std::vector<std::vector<std::size_t>>(told.size())};
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    for (const gang::LinkPair& pair : rounds[round]) {
      links.of_node[pair.connects].push_back(links.all.size());
      links.of_node[pair.listens].push_back(links.all.size());
      links.all.push_back(
          {pair, worse_of(result_at(told[pair.connects], round), result_at(told[pair.listens], round))});
    }
  }
  return links;
}

// --- A quality -------------------------------------------------------------------------------------

/// Values of the links that pass.
std::vector<double> values_where(const Links& links, const Quality& quality, const auto& passes) {
  std::vector<double> values;
  for (const Link& link : links.all) {
    if (const auto value = passes(link) ? quality.value_of(link) : std::nullopt) {
      values.push_back(*value);
    }
  }
  return values;
}

std::vector<double> own_values(const Links& links, const Quality& quality, std::size_t node) {
  std::vector<double> values;
  for (const std::size_t at : links.of_node[node]) {
    if (const auto value = quality.value_of(links.all[at])) {
      values.push_back(*value);
    }
  }
  return values;
}

/// Returns the value that the better quarter of the links has. `values` is not empty.
double good_of(std::vector<double> values, const Quality& quality) {
  const std::size_t quarter = values.size() / 4;
  const std::size_t at = quality.is_more_better ? values.size() - 1 - quarter : quarter;
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(at);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

/// "link throughput 0.90 Gb/s (24.00 Gb/s) in 6 of 6 rounds"; empty: some of its links are as those of the others. `best` is
/// of all links.
std::string describe_bad(const Links& links, const Quality& quality, std::size_t node, double best) {
  const std::vector<double> own = own_values(links, quality, node);
  const auto are_bad = [&](double usual) {
    return std::ranges::all_of(own, [&](double value) { return quality.is_bad(value, usual); });
  };
  if (own.size() < links.enough_of(node) || !are_bad(best)) {  // most nodes: what is usual takes long to find
    return {};
  }
  const std::vector<double> others = values_where(links, quality, [&](const Link& link) { return !link.has(node); });
  const double usual = others.empty() ? 0 : gang::median_of(others);
  const auto bad = std::ranges::count_if(others, [&](double value) { return quality.is_bad(value, usual); });
  if (others.empty() || !are_bad(usual) || static_cast<std::size_t>(bad) * kBadShare > others.size()) {
    return {};
  }
  const std::string values = quality.value_of == silence_of
                                 ? "do not answer"
                                 : quality.describe(gang::median_of(own)) + " (" + quality.describe(usual) + ")";
  return std::string(quality.name) + " " + values + " in " + std::to_string(own.size()) + " of " +
         count_of(links.of_node[node].size(), "round");
}

/// Nodes and links that are bad in one quality.
struct Finding {
  std::map<std::size_t, std::string> suspects{};  ///< nodes whose known links are all bad, and how
  std::size_t half_bad = 0;  ///< other nodes: at least half of their links to others of them are bad, at least two
  std::string mixed{};       ///< the good and the bad links
};

/// "link throughput 0.90 Gb/s on 28 links and 24.00 Gb/s on 36"
std::string describe_mixed(const Links& links, const Quality& quality, double good) {
  const auto is_bad = [&](const Link& link) {
    const auto value = quality.value_of(link);
    return value && quality.is_bad(*value, good);
  };
  const auto bad = values_where(links, quality, is_bad);
  const auto rest = values_where(links, quality, [&](const Link& link) { return !is_bad(link); });
  if (bad.empty() || rest.empty()) {
    return {};
  }
  return (quality.value_of == silence_of ? "" : std::string(quality.name) + " ") +
         quality.describe(gang::median_of(bad)) + " on " + count_of(bad.size(), "link") + " and " +
         quality.describe(gang::median_of(rest)) + " on " + std::to_string(rest.size());
}

/// Counts the nodes that have bad links to some partners only, such as those of a rack with a slow uplink.
std::size_t count_half_bad(const Links& links, const Quality& quality, const Finding& finding, double good) {
  std::size_t count = 0;
  for (std::size_t node = 0; node < links.of_node.size(); ++node) {
    std::size_t known = 0;
    std::size_t bad = 0;
    for (const std::size_t at : links.of_node[node]) {
      const auto& [connects, listens] = links.all[at].pair;
      const auto value = quality.value_of(links.all[at]);
      const bool counts = value && !finding.suspects.contains(connects) && !finding.suspects.contains(listens);
      known += counts ? 1 : 0;
      bad += counts && quality.is_bad(*value, good) ? 1 : 0;
    }
    count += bad >= kFewestLinks && 2 * bad >= known ? 1 : 0;
  }
  return count;
}

Finding compare_links(const Links& links, const Quality& quality) {
  Finding finding;
  const std::vector<double> values = values_where(links, quality, [](const Link&) { return true; });
  if (values.empty()) {
    return finding;
  }
  const auto [least, most] = std::ranges::minmax(values);
  const double best = quality.is_more_better ? most : least;
  for (std::size_t node = 0; node < links.of_node.size(); ++node) {
    if (std::string text = describe_bad(links, quality, node, best); !text.empty()) {
      finding.suspects.emplace(node, std::move(text));
    }
  }
  const double good = good_of(values, quality);
  finding.half_bad = count_half_bad(links, quality, finding, good);
  finding.mixed = describe_mixed(links, quality, good);
  return finding;
}

// --- The verdict -----------------------------------------------------------------------------------

/// The kind of most nodes; no node of another kind is named, because a head node may have a slow network card, and workers of
/// another role may need none.
std::string usual_kind(const std::vector<gang::NodeLinkResults>& told) {
  std::map<std::string, std::size_t> counts;
  for (const gang::NodeLinkResults& node : told) {
    ++counts[node.kind];
  }
  const auto most = std::ranges::max_element(counts, {}, [](const auto& kind) { return kind.second; });
  return most == counts.end() ? "" : most->first;
}

/// True if there are suspects at other addresses, and nothing is known of a link to one of them.
bool is_doubtful(const std::vector<gang::NodeLinkResults>& told, const Links& links, std::size_t node,
                 const std::map<std::size_t, std::string>& suspects) {
  const auto is_elsewhere = [&](std::size_t other) {
    return other != node && suspects.contains(other) && told[other].address != told[node].address;
  };
  const bool is_alone =
      std::ranges::none_of(suspects, [&](const auto& suspect) { return is_elsewhere(suspect.first); });
  return !is_alone && std::ranges::none_of(links.of_node[node], [&](std::size_t at) {
    const Link& link = links.all[at];
    return link.result && (is_elsewhere(link.pair.connects) || is_elsewhere(link.pair.listens));
  });
}

/// Nodes that have told their results, while too many of their partners were late or have told nothing.
std::vector<NodeRank> unknown_nodes(const std::vector<gang::NodeLinkResults>& told, const Links& links) {
  std::vector<NodeRank> unknown;
  for (std::size_t node = 0; node < told.size(); ++node) {
    const auto& own = links.of_node[node];
    const auto known = static_cast<std::size_t>(
        std::ranges::count_if(own, [&](std::size_t at) { return links.all[at].result.has_value(); }));
    if (told[node].results && own.size() >= kFewestLinks && known < links.enough_of(node)) {
      unknown.push_back(told[node].node);
    }
  }
  return unknown;
}

/// The findings of all qualities.
struct Findings {
  std::map<std::size_t, std::string> suspects{};
  std::vector<std::string> mixed{};              ///< links of which no single node is the reason
  std::vector<std::string> mixed_by_suspects{};  ///< links that are bad because of suspects
};

void add_finding(Findings& all, const Finding& found) {
  if (found.half_bad > 1 || (found.half_bad > 0 && !found.suspects.empty())) {
    all.mixed.push_back(found.mixed);
    return;
  }
  for (const auto& [node, text] : found.suspects) {
    std::string& texts = all.suspects[node];
    texts += (texts.empty() ? "" : ", ") + text;
  }
  if (!found.suspects.empty()) {
    all.mixed_by_suspects.push_back(found.mixed);
  }
}

/// Suspects only where they are few, and of the usual kind of machine.
Findings compare_qualities(const std::vector<gang::NodeLinkResults>& told, const Links& links) {
  constexpr std::size_t kShare = 8;
  const std::string kind = usual_kind(told);
  Findings all;
  for (const Quality& quality : kQualities) {
    Finding found = compare_links(links, quality);
    std::erase_if(found.suspects, [&](const auto& suspect) { return told[suspect.first].kind != kind; });
    add_finding(all, found);
  }
  if (all.suspects.size() > std::max<std::size_t>(1, told.size() / kShare)) {
    std::ranges::move(all.mixed_by_suspects, std::back_inserter(all.mixed));
    all.suspects.clear();
  }
  return all;
}

}  // namespace

gang::LinkVerdict judge_links(const std::vector<gang::NodeLinkResults>& told, const gang::LinkRounds& rounds) {
  const Links links = links_of(told, rounds);
  const Findings found = compare_qualities(told, links);
  gang::LinkVerdict verdict{.unknown = unknown_nodes(told, links), .mixed = join(found.mixed, ", ")};
  for (const auto& [node, text] : found.suspects) {
    if (is_doubtful(told, links, node, found.suspects)) {
      verdict.doubtful.push_back(told[node].node);
    } else {
      const auto others = static_cast<int>(told.size() - found.suspects.size());
      verdict.outliers.push_back({told[node].node, told[node].host, others, text});
    }
  }
  return verdict;
}

}  // namespace muster::preflight
