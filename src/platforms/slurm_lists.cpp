// Slurm's compressed lists. What they mean is what `scontrol show hostnames` prints; tests/slurm compares
// the two. In "n[1-3,07]" a number in front of a dash says how wide the numbers of its range are. With
// several brackets the last one counts fastest, then the first, the second, and so on.
#include "platforms/host_lists.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace muster {
namespace {

using Names = std::vector<std::string>;

constexpr std::size_t kLongestName = 255;  ///< of a host
constexpr int kMostBrackets = 8;           ///< within each other
constexpr std::size_t kShown = 40;         ///< characters of a wrong part

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<std::uint64_t> read_number(std::string_view text) {
  std::uint64_t number = 0;
  const bool is_read =
      is_number(text) &&
      std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc{};
  return is_read ? std::optional(number) : std::nullopt;
}

/// The pieces between those `separators` that are outside of brackets; empty when brackets do not match.
std::optional<std::vector<std::string_view>> split_outside(std::string_view text,
                                                           std::string_view separators) {
  std::vector<std::string_view> pieces;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    depth += text[at] == '[' ? 1 : text[at] == ']' ? -1 : 0;
    if (depth < 0) {
      return std::nullopt;
    }
    if (depth == 0 && separators.find(text[at]) != std::string_view::npos) {
      pieces.push_back(text.substr(begin, at - begin));
      begin = at + 1;
    }
  }
  pieces.push_back(text.substr(begin));
  return depth == 0 ? std::optional(pieces) : std::nullopt;
}

/// "d[01-02]-[3-4]x": the texts "d", "-" and "x", and what stands for each bracket between them.
struct Pattern {
  std::vector<std::string_view> texts;
  std::vector<Names> brackets;
};

/// The name number `index` of a pattern.
std::string name_of(const Pattern& pattern, std::size_t index) {
  const std::size_t count = pattern.brackets.size();
  std::vector<std::string_view> chosen(count);
  for (std::size_t turn = 0; turn < count; ++turn) {
    const std::size_t bracket = turn == 0 ? count - 1 : turn - 1;
    const Names& numbers = pattern.brackets[bracket];
    chosen[bracket] = numbers[index % numbers.size()];
    index /= numbers.size();
  }
  std::string name(pattern.texts.front());
  for (std::size_t bracket = 0; bracket < count; ++bracket) {
    name.append(chosen[bracket]).append(pattern.texts[bracket + 1]);
  }
  return name;
}

/// Expands the names of one list, and knows it for messages.
class Expander {
 public:
  explicit Expander(const Sourced<std::string>& list) : list_{shortened(list.value), list.source} {}

  /// Adds the names that one name with brackets stands for.
  Result<> expand(std::string_view name, int depth, Names& names) const;

  [[nodiscard]] Error expected(const std::string& what) const { return wrong_value(list_, what); }

 private:
  [[nodiscard]] Error too_many() const {
    return expected("a list of at most " + std::to_string(kMostNodes) + " hosts");
  }
  [[nodiscard]] Result<Pattern> read_pattern(std::string_view name, int depth) const;
  Result<> expand_bracket(std::string_view inside, int depth, Names& numbers) const;
  Result<> expand_range(std::string_view range, Names& numbers) const;

  Sourced<std::string> list_;
};

// Brackets within each other are few: kMostBrackets.
// NOLINTBEGIN(misc-no-recursion)
Result<> Expander::expand(std::string_view name, int depth, Names& names) const {
  if (depth > kMostBrackets) {
    return expected("fewer brackets within each other");
  }
  const auto pattern = read_pattern(name, depth);
  if (!pattern) {
    return pattern.error();
  }
  std::size_t count = 1;
  for (const Names& numbers : pattern->brackets) {
    count *= numbers.size();
    if (count > kMostNodes) {
      return too_many();
    }
  }
  if (names.size() + count > kMostNodes) {
    return too_many();
  }
  for (std::size_t index = 0; index < count; ++index) {
    names.push_back(name_of(*pattern, index));
    if (names.back().size() > kLongestName) {
      return expected("names of at most " + std::to_string(kLongestName) + " characters");
    }
  }
  return {};
}

Result<Pattern> Expander::read_pattern(std::string_view name, int depth) const {
  Pattern pattern;
  std::size_t open = name.find('[');
  while (open != std::string_view::npos) {
    std::size_t end = open + 1;
    for (int level = 1; level > 0; ++end) {  // they match: the list was split by them
      level += name[end] == '[' ? 1 : name[end] == ']' ? -1 : 0;
    }
    Names numbers;
    if (auto expanded = expand_bracket(name.substr(open + 1, end - open - 2), depth, numbers);
        !expanded) {
      return expanded.error();
    }
    pattern.texts.push_back(name.substr(0, open));
    pattern.brackets.push_back(std::move(numbers));
    name = name.substr(end);
    open = name.find('[');
  }
  pattern.texts.push_back(name);
  return pattern;
}

/// What is between two brackets: "1-3,07", also with brackets of its own, "1[0-2],20".
Result<> Expander::expand_bracket(std::string_view inside, int depth, Names& numbers) const {
  for (const std::string_view piece : split_outside(inside, ",").value_or(std::vector{inside})) {
    const bool has_bracket = piece.find('[') != std::string_view::npos;
    auto expanded = has_bracket ? expand(piece, depth + 1, numbers) : expand_range(piece, numbers);
    if (!expanded) {
      return expanded;
    }
    if (numbers.size() > kMostNodes) {
      return too_many();
    }
  }
  if (!std::all_of(numbers.begin(), numbers.end(), is_number)) {
    return expected("numbers in its brackets, not '" + one_line(inside, kShown) + "'");
  }
  return {};
}
// NOLINTEND(misc-no-recursion)

/// Adds "07", or what "1-3" means.
Result<> Expander::expand_range(std::string_view range, Names& numbers) const {
  const std::size_t dash = range.find('-');
  const std::string_view first = range.substr(0, dash);
  if (dash == std::string_view::npos && is_number(first)) {
    numbers.emplace_back(first);
    return {};
  }
  const auto least = read_number(first);
  const auto most = read_number(dash == std::string_view::npos ? "" : range.substr(dash + 1));
  if (!least || !most || *most < *least) {
    return expected("ranges such as 1-3 or 07 in its brackets, not '" + one_line(range, kShown) +
                    "'");
  }
  if (*most - *least >= kMostNodes || first.size() > kLongestName) {
    return too_many();
  }
  for (std::uint64_t left = *most - *least + 1, number = *least; left > 0; --left, ++number) {
    const std::string digits = std::to_string(number);
    numbers.push_back(std::string(first.size() - std::min(first.size(), digits.size()), '0') +
                      digits);
  }
  return {};
}

}  // namespace

Result<HostList> read_slurm_list(const Sourced<std::string>& text) {
  const std::string form = "a list of hosts such as n[1-3,07],m2";
  const Expander expander(text);
  const auto pieces = split_outside(text.value, ", \t\r\n");
  if (!pieces) {
    return expander.expected(form + ", with each bracket closed");
  }
  HostList hosts{{}, text.source};
  for (const std::string_view piece : *pieces) {
    if (piece.empty()) {
      continue;
    }
    const std::size_t before = hosts.value.size();
    if (const auto expanded = expander.expand(piece, 0, hosts.value); !expanded) {
      return expanded.error();
    }
    // The others differ from the first one in digits.
    if (!read_address({hosts.value[before], {}})) {
      return expander.expected(form);
    }
  }
  return hosts.value.empty() ? Result<HostList>(expander.expected(form)) : hosts;
}

Result<Sourced<std::vector<int>>> read_tasks_per_node(const Sourced<std::string>& text) {
  Sourced<std::vector<int>> tasks{{}, text.source};
  const auto refusal = [&] {
    return wrong_value(
        {shortened(text.value), text.source},
        "numbers of tasks such as 2(x3),1 of at most " + std::to_string(kMostNodes) + " nodes");
  };
  for (const std::string& piece : split(text.value, ',')) {
    const std::size_t open = piece.find("(x");
    const bool is_repeated = open != std::string::npos && piece.back() == ')';
    const auto count = parse_integer(std::string_view(piece).substr(0, open), 1, kMostWorkers);
    const auto nodes =
        is_repeated ? parse_integer(piece.substr(open + 2, piece.size() - open - 3), 1, kMostNodes)
                    : std::optional(1);
    if (!count || !nodes || (open != std::string::npos && !is_repeated) ||
        tasks.value.size() + static_cast<std::size_t>(*nodes) > kMostNodes) {
      return refusal();
    }
    tasks.value.insert(tasks.value.end(), static_cast<std::size_t>(*nodes), *count);
  }
  return tasks.value.empty() ? Result<Sourced<std::vector<int>>>(refusal()) : tasks;
}

}  // namespace muster
