// Compares each fact by its row of the table, and puts the differences of a node into one line.
#include "preflight/judge.hpp"

#include "base/lists.hpp"
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

/// Limits of the facts in one line, and of the entries of a set there.
constexpr std::size_t kMostFacts = 8;
constexpr std::size_t kMostEntriesSaid = 4;
/// An entry of a set whose number is below this share of the node's highest one is for management: it is not compared.
constexpr double kSlowShare = 1.0 / 8;

struct Difference {
  const FactRow* row = nullptr;
  std::string text;
  bool is_fatal = false;
};

struct Node {
  const gang::ToldFacts* told = nullptr;
  Facts facts;
  std::vector<Difference> differences{};
  std::size_t others = 0;  ///< nodes from which it differs
};
using Nodes = std::vector<Node*>;

std::size_t most_outliers(std::size_t nodes) {
  return std::max<std::size_t>(1, nodes / 8);
}

/// Notes the difference of each node that does not agree, where nearly all of `nodes` do. `agrees` and `describe` take a node.
void note_outliers(const FactRow& row, const Nodes& nodes, const auto& agrees, const auto& describe) {
  const auto others = static_cast<std::size_t>(
      std::count_if(nodes.begin(), nodes.end(), [&](const Node* node) { return agrees(*node); }));
  if (nodes.size() < gang::kFewestCompared || nodes.size() - others > most_outliers(nodes.size())) {
    return;
  }
  for (Node* const node : nodes) {
    if (!agrees(*node)) {
      node->differences.push_back({&row, describe(*node), row.weight == Weight::Fatal});
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
  return value_at(node.facts.texts, row.name, "none");
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
    const std::string text = text_told(row, *node);
    if (text != kNotKnown && ((tells_all && !row.may_lack) || node->facts.texts.contains(row.name))) {
      nodes.push_back(node);
      values.push_back(text);
    }
  }
  const auto groups = groups_of(values);
  if (groups.size() < 2) {
    return;
  }
  const std::string& usual = groups.front().first;
  note_outliers(
      row, nodes, [&](const Node& node) { return text_told(row, node) == usual; },
      [&](const Node& node) { return std::string(row.name) + " " + text_told(row, node) + " (" + usual + ")"; });
  if (std::string text = describe_groups(row, groups, nodes.size()); !text.empty() && row.weight != Weight::Beside) {
    mixed.push_back(std::move(text));
  }
}

// --- Numbers --------------------------------------------------------------------------------------

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
  const double usual = gang::median_of(numbers);
  const double least =
      row.compare == Compare::Floor ? row.tolerance : std::min(usual * (1 - row.tolerance), row.enough);
  const auto agrees = [&](const Node& node) {
    const auto beside = node.facts.numbers.find(row.enough_beside);
    const double enough = beside == node.facts.numbers.end() ? least : beside->second * (1 - row.tolerance);
    return node.facts.numbers.at(row.name) >= std::min(least, enough);
  };
  note_outliers(row, nodes, agrees, [&](const Node& node) {
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
  const Offset usual{gang::median_of(middles), gang::median_of(uncertainties)};
  const auto ahead = [&](const Node& node) { return offset_of(row, node).middle - usual.middle; };
  const auto agrees = [&](const Node& node) {
    return std::abs(ahead(node)) <= row.tolerance + offset_of(row, node).uncertainty + usual.uncertainty;
  };
  note_outliers(row, nodes, agrees, [&](const Node& node) {
    return std::string(row.name) + (ahead(node) < 0 ? " -" : " +") +
           std::to_string(std::llround(std::abs(ahead(node)))) + " s";
  });
}

// --- Sets -----------------------------------------------------------------------------------------

/// The first number in the text: 400 of "400 Gb/s", 16 of "x16", 0 of "down". Empty: it has no rate, as "MTU 1500".
std::optional<double> rate_in(const std::string& text) {
  const std::size_t digit = text.find_first_of("0123456789");
  if (text.starts_with("MTU")) {
    return std::nullopt;
  }
  return digit == std::string::npos ? 0 : std::strtod(text.c_str() + digit, nullptr);
}

/// The set without the slow entries, and without those that are down.
Facts::Set compared_part(const Facts::Set& set) {
  double most = 0;
  for (const auto& [name, text] : set) {
    most = std::max(most, rate_in(text).value_or(0));
  }
  Facts::Set part;
  for (const auto& [name, text] : set) {
    if (const auto rate = rate_in(text); !rate || (*rate > 0 && *rate >= most * kSlowShare)) {
      part.emplace_hint(part.end(), name, text);
    }
  }
  return part;
}

double sum_of_rates(const Facts::Set& set) {
  double sum = 0;
  for (const auto& [name, text] : set) {
    sum += rate_in(text).value_or(0);
  }
  return sum;
}

/// The sorted texts of the part that is compared.
std::vector<std::string> compared_texts(const Facts::Set& set) {
  std::vector<std::string> texts;
  for (const auto& [name, text] : compared_part(set)) {
    texts.push_back(text);
  }
  std::ranges::sort(texts);
  return texts;
}

/// "7 with 400 Gb/s, 1 with 200 Gb/s", without the names.
std::string summary_of(const Facts::Set& set) {
  std::vector<std::string> parts;
  for (const auto& [text, count] : groups_of(mapped(set, [](const auto& entry) { return entry.second; }))) {
    parts.push_back(std::to_string(count) + " with " + text);
  }
  return parts.empty() ? "none" : join(parts, ", ");
}

/// Names the entries of `own` that differ from `usual`; the summaries where the nodes name them differently.
std::string describe_set(const FactRow& row, const Facts::Set& own, const Facts::Set& usual) {
  const auto text_at = [](const Facts::Set& set, const std::string& name) { return value_at(set, name, "missing"); };
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

/// A node agrees if it has what most have, whatever the names. A difference is fatal if the node is slower.
void compare_sets(const FactRow& row, const Nodes& all) {
  Nodes nodes;
  std::map<const Node*, std::vector<std::string>> texts;
  std::vector<std::string> values;
  for (Node* const node : all) {
    if (const auto set = node->facts.sets.find(row.name); set != node->facts.sets.end()) {
      nodes.push_back(node);
      texts[node] = compared_texts(set->second);
      values.push_back(join(texts[node], "\n"));
    }
  }
  const auto groups = groups_of(values);
  if (groups.size() < 2) {
    return;
  }
  const auto usual_at = std::ranges::find(values, groups.front().first) - values.begin();
  const Node* const usual_node = nodes[static_cast<std::size_t>(usual_at)];
  const Facts::Set& usual = usual_node->facts.sets.at(row.name);
  note_outliers(
      row, nodes, [&](const Node& node) { return std::ranges::includes(texts.at(&node), texts.at(usual_node)); },
      [&](const Node& node) { return describe_set(row, node.facts.sets.at(row.name), usual); });
  for (Node* const node : nodes) {
    const bool is_slower = sum_of_rates(node->facts.sets.at(row.name)) < sum_of_rates(usual);
    if (!node->differences.empty() && node->differences.back().row == &row && !is_slower) {
      node->differences.back().is_fatal = false;
    }
  }
}

// --- Nodes ----------------------------------------------------------------------------------------

std::string usual_version(const Nodes& nodes) {
  std::vector<std::string> versions;
  for (const Node* const node : nodes) {
    versions.push_back(value_at(node->facts.texts, "muster"));
  }
  return groups_of(versions).front().first;
}

void compare_fact(const FactRow& row, const Nodes& nodes, const std::string& version, std::vector<std::string>& mixed) {
  switch (row.compare) {
    case Compare::Equal:
      compare_texts(row, nodes, version, mixed);
      break;
    case Compare::Amount:
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

/// The nodes without node 0, if that is another kind of machine: often one that only leads the others.
Nodes without_head(const Nodes& nodes, const std::string& version) {
  const auto head = std::ranges::find_if(nodes, [](const Node* node) { return node->told->node.value == 0; });
  std::vector<std::string> ignored;
  for (const FactRow& row : fact_rows()) {
    if (row.is_kind && head != nodes.end()) {
      compare_fact(row, nodes, version, ignored);
    }
  }
  Nodes workers;
  for (Node* const node : nodes) {
    if (node->told->node.value != 0 || node->differences.empty()) {
      workers.push_back(node);
    }
  }
  for (Node* const node : nodes) {
    node->differences.clear();
    node->others = 0;
  }
  return workers;
}

std::string join_some(std::vector<std::string> parts) {
  const std::size_t more = parts.size() - std::min(parts.size(), kMostFacts);
  parts.resize(parts.size() - more);
  return join(parts, ", ") + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

/// Adds the node to the verdict if it has a difference that is worth a line.
void note_node(const Node& node, gang::PreflightVerdict& verdict) {
  std::vector<std::string> texts;
  std::vector<std::string> fatal;
  bool is_told = false;
  for (const Difference& difference : node.differences) {
    is_told = is_told || difference.row->weight != Weight::Beside;
    texts.push_back(difference.text);
    if (difference.is_fatal) {
      fatal.push_back(difference.text);
    }
  }
  const Outlier outlier{node.told->node, node.told->host, static_cast<int>(node.others), join_some(std::move(texts))};
  if (is_told) {
    verdict.outliers.push_back(outlier);
  }
  if (!fatal.empty()) {
    verdict.unfit.push_back(outlier);
    verdict.unfit.back().facts = join_some(std::move(fatal));
  }
}

}  // namespace

gang::PreflightVerdict judge(const std::vector<gang::ToldFacts>& told, bool is_strict) {
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
    if (members.size() < gang::kFewestCompared) {
      continue;
    }
    const std::string version = usual_version(members);
    const Nodes machines = is_strict ? members : without_head(members, version);
    for (const FactRow& row : fact_rows()) {
      compare_fact(row, row.is_of_machine ? machines : members, version, mixed);
    }
  }
  for (const Node& node : nodes) {
    note_node(node, verdict);
  }
  std::ranges::sort(verdict.outliers, {}, &Outlier::node);
  std::ranges::sort(verdict.unfit, {}, &Outlier::node);
  verdict.mixed = join_some(std::move(mixed));
  return verdict;
}

}  // namespace muster::preflight
