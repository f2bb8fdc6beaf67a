// Holds the table of facts, writes a node's facts as a line, and reads the lines of others.
#include "preflight/host_facts.hpp"

#include "base/display_text.hpp"
#include "base/format_text.hpp"
#include "base/json.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace muster::preflight {
namespace {

constexpr double kGibibyte = 1'073'741'824;

/// A row for an amount. Equal machines differ a little, by what their firmware keeps and limits that follow from it.
constexpr FactRow amount(std::string_view name, Unit unit = Unit::None) {
  constexpr double kTolerance = 0.02;
  return {.name = name, .compare = Compare::Amount, .tolerance = kTolerance, .unit = unit, .is_of_machine = true};
}

/// Makes a row of a fact that shows the kind of a machine.
constexpr FactRow kind(FactRow row) {
  row.is_of_machine = true;
  row.is_kind = true;
  return row;
}

/// A row for a limit of processes. Limits of services and logins differ, and no job notices more than `enough`.
constexpr FactRow limit(std::string_view name, double enough, Unit unit = Unit::None) {
  FactRow row = amount(name, unit);
  row.enough = enough;
  return row;
}

/// A row for a limit on something of which another fact tells the amount: a limit above that amount has no effect.
constexpr FactRow limit_beside(std::string_view name, std::string_view other, Unit unit) {
  FactRow row = amount(name, unit);
  row.enough_beside = other;
  return row;
}

constexpr FactRow fatal(FactRow row) {
  row.weight = Weight::Fatal;
  return row;
}

constexpr auto kFactRows = std::to_array<FactRow>({
    {.name = "kernel", .weight = Weight::Beside},
    {.name = "muster"},
    {.name = "Python"},
    {.name = "torch"},
    {.name = "torch_npu"},
    {.name = "mindspore"},
    {.name = "tensorflow"},
    {.name = "jax"},
    {.name = "NCCL"},
    {.name = "CUDA", .weight = Weight::Beside, .is_of_machine = true, .may_lack = true},
    {.name = "CANN", .is_of_machine = true},
    fatal({.name = "driver", .is_of_machine = true}),
    fatal(kind({.name = "devices"})),
    {.name = "governor", .is_of_machine = true, .may_lack = true},
    kind(amount("CPUs")),
    kind(amount("memory", Unit::Bytes)),
    kind(limit_beside("memory limit", "memory", Unit::Bytes)),
    fatal(amount("/dev/shm", Unit::Bytes)),
    limit("open files", 65'536),
    limit("processes", 65'536),
    limit("locked memory", 16 * kGibibyte, Unit::Bytes),
    fatal({.name = "folders", .may_lack = true}),
    fatal({.name = "folder writes", .may_lack = true}),
    {.name = "leader's name", .may_lack = true},
    {.name = "own name", .may_lack = true},
    {.name = "room for logs", .compare = Compare::Floor, .tolerance = kGibibyte, .unit = Unit::Bytes},
    {.name = "room for the run", .compare = Compare::Floor, .tolerance = kGibibyte / 64, .unit = Unit::Bytes},
    fatal({.name = "clock", .compare = Compare::Clock, .tolerance = 1}),
    fatal({.name = "port", .compare = Compare::Set, .is_of_machine = true}),
    {.name = "interface", .compare = Compare::Set, .is_of_machine = true},
    {.name = "device", .compare = Compare::Set, .is_of_machine = true},
});

/// The text as one visible line. Nearly all texts are that already, and a leader reads those of thousands of nodes.
std::string visible(std::string_view text, std::size_t most) {
  const bool is_plain = text.size() <= most && std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
  return is_plain ? std::string(text) : one_line(text, most);
}

json::object to_document(const Facts::Set& set) {
  json::object document;
  for (const auto& [name, text] : set) {
    document[visible(name, kMostNameBytes)] = visible(text, kMostTextBytes);
  }
  return document;
}

/// The value of a row; null: the node does not know it.
json::value value_of(const FactRow& row, const Facts& facts) {
  if (const auto text = facts.texts.find(row.name); text != facts.texts.end()) {
    return json::value(visible(text->second, kMostTextBytes));
  }
  if (const auto number = facts.numbers.find(row.name); number != facts.numbers.end()) {
    return number->second;
  }
  const auto set = facts.sets.find(row.name);
  return set == facts.sets.end() || set->second.size() > kMostEntries ? json::value() : to_document(set->second);
}

std::optional<Facts::Set> read_set(const json::object& document) {
  if (document.size() > kMostEntries) {
    return std::nullopt;
  }
  Facts::Set set;
  for (const auto& [name, value] : document) {
    if (value.is_string()) {
      set[visible(name, kMostNameBytes)] = visible(text_of(&value), kMostTextBytes);
    }
  }
  return set;
}

void read_fact(const FactRow& row, const json::value& value, Facts& facts) {
  if (row.compare == Compare::Equal) {
    if (value.is_string() && !value.get_string().empty()) {
      facts.texts[row.name] = visible(text_of(&value), kMostTextBytes);
    }
  } else if (row.compare == Compare::Set) {
    if (auto set = value.is_object() ? read_set(value.get_object()) : std::nullopt) {
      facts.sets[row.name] = std::move(*set);
    }
  } else if (value.is_number()) {
    const auto number = value.to_number<double>();
    if (std::isfinite(number) && number >= 0) {
      facts.numbers[row.name] = number;
    }
  }
}

}  // namespace

std::span<const FactRow> fact_rows() {
  return kFactRows;
}

std::string describe_number(const FactRow& row, double number) {
  if (number >= kNoLimit) {
    return "no limit";
  }
  const auto whole = static_cast<std::uint64_t>(number);
  constexpr std::uint64_t kMebibyte = 1'048'576;
  if (row.unit == Unit::Bytes && whole < kMebibyte) {  // of locked memory many systems allow 64 KiB
    return std::to_string(whole / 1'024) + " KiB";
  }
  return row.unit == Unit::Bytes ? format_bytes(whole) : std::to_string(whole);
}

std::string two_decimals(double number) {
  return format_text("%.2f", number);
}

std::string to_line(const Facts& facts) {
  constexpr std::size_t kMargin = 8;  // quotes, a colon, a comma and braces
  json::object document;
  std::size_t bytes = kMargin;
  for (const FactRow& row : kFactRows) {
    json::value value = value_of(row, facts);
    const std::size_t more = row.name.size() + json::serialize(value).size() + kMargin;
    if (!value.is_null() && bytes + more <= kMostLineBytes) {
      bytes += more;
      document[row.name] = std::move(value);
    }
  }
  return json::serialize(document);
}

Facts parse_facts(std::string_view line) {
  json::parse_options limits;
  limits.max_depth = 2;
  const auto document = line.size() <= kMostLineBytes ? parse_object(line, limits) : std::nullopt;
  Facts facts;
  for (const FactRow& row : kFactRows) {
    const json::value* const value = document ? document->if_contains(row.name) : nullptr;
    if (value != nullptr) {
      read_fact(row, *value, facts);
    }
  }
  return facts;
}

std::string describe_fact(const FactRow& row, const Facts& facts) {
  if (const auto text = facts.texts.find(row.name); text != facts.texts.end()) {
    return text->second;
  }
  if (const auto number = facts.numbers.find(row.name); number != facts.numbers.end()) {
    return describe_number(row, number->second);
  }
  std::vector<std::string> entries;
  if (const auto set = facts.sets.find(row.name); set != facts.sets.end()) {
    for (const auto& [name, text] : set->second) {
      entries.push_back(std::string(name).append(" ").append(text));
    }
  }
  return join(entries, ", ");
}

}  // namespace muster::preflight
