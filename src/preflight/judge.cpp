// Compares each fact by its row of the table, and puts the differences of a node into one line.
#include "preflight/judge.hpp"

#include "base/text.hpp"
#include "preflight/host_facts.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace muster::preflight {
namespace {

constexpr std::size_t kFewestNodes = 3;
/// Limits of the facts in one line, and of the entries of a set there.
constexpr std::size_t kMostFacts = 8;
constexpr std::size_t kMostEntriesSaid = 4;
/// An entry of a set whose number is below this share of the node's highest one is for management: it is not compared.
constexpr double kSlowShare = 1.0 / 8;

struct Node {
  const gang::ToldFacts* told = nullptr;
  Facts facts;
  std::vector<std::string> differences{};
  std::size_t others = 0;  ///< nodes from which it differs
};
using Nodes = std::vector<Node*>;

std::size_t most_outliers(std::size_t nodes) {
  return std::max<std::size_t>(1, nodes / 8);
}

/// Notes the difference of each node that does not agree, where nearly all of `nodes` do. `agrees` and `describe` take a node.
template <typename Agrees, typename Describe>
void note_outliers(const Nodes& nodes, const Agrees& agrees, const Describe& describe) {
  const auto others = static_cast<std::size_t>(
      std::count_if(nodes.begin(), nodes.end(), [&](const Node* node) { return agrees(*node); }));
  if (nodes.size() < kFewestNodes || nodes.size() - others > most_outliers(nodes.size())) {
    return;
  }
  for (Node* const node : nodes) {
    if (!agrees(*node)) {
      node->differences.push_back(describe(*node));
      node->others = node->others == 0 ? others : std::min(node->others, others);
    }
  }
}

// --- Texts ----------------------------------------------------------------------------------------

/// The values of the nodes, the most frequent one first.
std::vector<std::pair<std::string, std::size_t>> groups_of(const std::vector<std::string>& values) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& value : values) {
    ++counts[value];
  }
  std::vector<std::pair<std::string, std::size_t>> groups(counts.begin(), counts.end());
  std::ranges::stable_sort(groups, [](const auto& one, const auto& other) { return one.second > other.second; });
  return groups;
}

std::string text_told(const FactRow& row, const Node& node) {
  const auto found = node.facts.texts.find(row.name);
  return found == node.facts.texts.end() ? "none" : found->second;
}

/// "kernel 5.15 on 40 nodes and 6.1 on 24"; empty: there are no two large groups.
std::string describe_groups(const FactRow& row, const std::vector<std::pair<std::string, std::size_t>>& groups,
                            std::size_t nodes) {
  if (groups.size() < 2 || groups[1].second <= most_outliers(nodes)) {
    return {};
  }
  return std::string(row.name) + " " + groups[0].first + " on " + count_of(groups[0].second, "node") + " and " +
         groups[1].first + " on " + std::to_string(groups[1].second);
}

/// A node of another version of muster may not tell all facts: it takes part only in the comparison of what it tells.
void compare_texts(const FactRow& row, const Nodes& all, const std::string& usual_version,
                   std::vector<std::string>& mixed) {
  Nodes nodes;
  std::vector<std::string> values;
  for (Node* const node : all) {
    const auto version = node->facts.texts.find("muster");
    const bool tells_all = version != node->facts.texts.end() && version->second == usual_version;
    if (tells_all || node->facts.texts.contains(row.name)) {
      nodes.push_back(node);
      values.push_back(text_told(row, *node));
    }
  }
  const auto groups = groups_of(values);
  if (groups.size() < 2) {
    return;
  }
  const std::string& usual = groups.front().first;
  note_outliers(
      nodes, [&](const Node& node) { return text_told(row, node) == usual; },
      [&](const Node& node) { return std::string(row.name) + " " + text_told(row, node) + " (" + usual + ")"; });
  if (std::string text = describe_groups(row, groups, nodes.size()); !text.empty()) {
    mixed.push_back(std::move(text));
  }
}

// --- Numbers --------------------------------------------------------------------------------------

double median_of(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

Nodes nodes_with_number(const FactRow& row, const Nodes& all) {
  Nodes nodes;
  std::ranges::copy_if(all, std::back_inserter(nodes),
                       [&](const Node* node) { return node->facts.numbers.contains(row.name); });
  return nodes;
}

void compare_numbers(const FactRow& row, const Nodes& all) {
  const Nodes nodes = nodes_with_number(row, all);
  if (nodes.empty()) {
    return;
  }
  std::vector<double> numbers;
  for (const Node* const node : nodes) {
    numbers.push_back(node->facts.numbers.at(row.name));
  }
  const double usual = median_of(numbers);
  const bool has_floor = row.compare == Compare::Floor;
  const auto agrees = [&](const Node& node) {
    const double number = node.facts.numbers.at(row.name);
    return has_floor ? number >= row.tolerance : std::abs(number - usual) <= row.tolerance * usual;
  };
  note_outliers(nodes, agrees, [&](const Node& node) {
    return std::string(row.name) + " " + describe_number(row, node.facts.numbers.at(row.name)) + " (" +
           describe_number(row, usual) + ")";
  });
}

/// Offset of a node's clock from the leader's steady one: the node read it at some time between question and answer.
struct Offset {
  double middle = 0;
  double uncertainty = 0;
};

Offset offset_of(const FactRow& row, const Node& node) {
  const gang::ToldFacts& told = *node.told;
  const double at = node.facts.numbers.at(row.name);
  return {at - (told.asked + told.answered) / 2, std::abs(told.answered - told.asked) / 2};
}

void compare_clocks(const FactRow& row, const Nodes& all) {
  const Nodes nodes = nodes_with_number(row, all);
  if (nodes.empty()) {
    return;
  }
  std::vector<double> middles;
  std::vector<double> uncertainties;
  for (const Node* const node : nodes) {
    const Offset offset = offset_of(row, *node);
    middles.push_back(offset.middle);
    uncertainties.push_back(offset.uncertainty);
  }
  const Offset usual{median_of(middles), median_of(uncertainties)};
  const auto ahead = [&](const Node& node) { return offset_of(row, node).middle - usual.middle; };
  const auto agrees = [&](const Node& node) {
    return std::abs(ahead(node)) <= row.tolerance + offset_of(row, node).uncertainty + usual.uncertainty;
  };
  note_outliers(nodes, agrees, [&](const Node& node) {
    return std::string(row.name) + (ahead(node) < 0 ? " -" : " +") + format_seconds(std::abs(ahead(node))) + " s";
  });
}

// --- Sets -----------------------------------------------------------------------------------------

/// The first number in the text: 400 of "400 Gb/s", 16 of "x16"; 0: there is none.
double number_in(const std::string& text) {
  const std::size_t digit = text.find_first_of("0123456789");
  return digit == std::string::npos ? 0 : std::strtod(text.c_str() + digit, nullptr);
}

/// The set without the slow entries, and without those that have no number, such as "down".
Facts::Set compared_part(const Facts::Set& set) {
  double most = 0;
  for (const auto& [name, text] : set) {
    most = std::max(most, number_in(text));
  }
  Facts::Set part;
  for (const auto& [name, text] : set) {
    if (const double number = number_in(text); number > 0 && number >= most * kSlowShare) {
      part.emplace_hint(part.end(), name, text);
    }
  }
  return part;
}

/// "7 with 400 Gb/s, 1 with 200 Gb/s", without the names.
std::string summary_of(const Facts::Set& set) {
  std::vector<std::string> texts;
  for (const auto& [name, text] : set) {
    texts.push_back(text);
  }
  std::vector<std::string> parts;
  for (const auto& [text, count] : groups_of(texts)) {
    parts.push_back(std::to_string(count) + " with " + text);
  }
  return parts.empty() ? "none" : join(parts, ", ");
}

/// Names the entries of `own` that differ from `usual`; the summaries where the nodes name them differently.
std::string describe_set(const FactRow& row, const Facts::Set& own, const Facts::Set& usual) {
  const auto text_at = [](const Facts::Set& set, const std::string& name) {
    const auto found = set.find(name);
    return found == set.end() ? std::string("missing") : found->second;
  };
  const Facts::Set own_part = compared_part(own);
  const Facts::Set usual_part = compared_part(usual);
  Facts::Set both = own_part;
  both.insert(usual_part.begin(), usual_part.end());
  std::vector<std::string> parts;
  std::size_t missing = 0;
  for (const auto& [name, text] : both) {
    missing += own.contains(name) ? 0 : 1;
    if (text_at(own, name) != text_at(usual, name)) {
      parts.push_back(std::string(row.name) + " " + name + " " + text_at(own, name) + " (" + text_at(usual, name) +
                      ")");
    }
  }
  if (parts.empty() || parts.size() > kMostEntriesSaid || missing * 2 > usual.size()) {
    return std::string(row.name) + "s: " + summary_of(own_part) + " (" + summary_of(usual_part) + ")";
  }
  return join(parts, ", ");
}

void compare_sets(const FactRow& row, const Nodes& all) {
  Nodes nodes;
  std::vector<std::string> summaries;
  for (Node* const node : all) {
    if (const auto set = node->facts.sets.find(row.name); set != node->facts.sets.end()) {
      nodes.push_back(node);
      summaries.push_back(summary_of(compared_part(set->second)));
    }
  }
  const auto groups = groups_of(summaries);
  if (groups.size() < 2) {
    return;
  }
  const auto usual_at = std::ranges::find(summaries, groups.front().first) - summaries.begin();
  const Facts::Set& usual = nodes[static_cast<std::size_t>(usual_at)]->facts.sets.at(row.name);
  std::map<const Node*, const std::string*> summary;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    summary[nodes[i]] = &summaries[i];
  }
  note_outliers(
      nodes, [&](const Node& node) { return *summary.at(&node) == groups.front().first; },
      [&](const Node& node) { return describe_set(row, node.facts.sets.at(row.name), usual); });
}

// --- Nodes ----------------------------------------------------------------------------------------

void compare(const Nodes& nodes, std::vector<std::string>& mixed) {
  std::vector<std::string> versions;
  for (const Node* const node : nodes) {
    const auto version = node->facts.texts.find("muster");
    versions.push_back(version == node->facts.texts.end() ? "" : version->second);
  }
  const auto groups = groups_of(versions);
  for (const FactRow& row : fact_rows()) {
    switch (row.compare) {
      case Compare::Equal:
        compare_texts(row, nodes, groups.front().first, mixed);
        break;
      case Compare::Near:
      case Compare::Floor:
        compare_numbers(row, nodes);
        break;
      case Compare::Clock:
        compare_clocks(row, nodes);
        break;
      case Compare::Set:
        compare_sets(row, nodes);
        break;
    }
  }
}

std::string join_some(std::vector<std::string> parts) {
  const std::size_t more = parts.size() - std::min(parts.size(), kMostFacts);
  parts.resize(parts.size() - more);
  return join(parts, ", ") + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

}  // namespace

gang::PreflightVerdict judge(const std::vector<gang::ToldFacts>& told) {
  std::vector<Node> nodes;
  nodes.reserve(told.size());
  std::map<std::string, Nodes> roles;
  for (const gang::ToldFacts& one : told) {
    if (Facts facts = parse_facts(one.text); !facts.is_empty()) {
      nodes.push_back({&one, std::move(facts)});
      roles[one.role].push_back(&nodes.back());
    }
  }
  gang::PreflightVerdict verdict;
  std::vector<std::string> mixed;
  for (const auto& [role, members] : roles) {
    if (members.size() >= kFewestNodes) {
      compare(members, mixed);
    }
  }
  for (Node& node : nodes) {
    if (!node.differences.empty()) {
      verdict.outliers.push_back(
          {node.told->node, node.told->host, static_cast<int>(node.others), join_some(std::move(node.differences))});
    }
  }
  std::ranges::sort(verdict.outliers, {}, &Outlier::node);
  verdict.mixed = join_some(std::move(mixed));
  return verdict;
}

}  // namespace muster::preflight
