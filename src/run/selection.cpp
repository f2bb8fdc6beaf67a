// Reads torchrun's --redirects, --tee, --local-ranks-filter and line filters, and the template of line prefixes.
#include "run/selection.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

constexpr int kMostRank = 1'000'000;

std::optional<Streams> read_streams(std::string_view text) {
  const auto number = parse_integer(text, 0, 3);
  return number ? std::optional(static_cast<Streams>(*number)) : std::nullopt;
}

bool contains(Streams set, Streams stream) {
  return (static_cast<unsigned>(set) & static_cast<unsigned>(stream)) != 0;
}

}  // namespace

bool Selection::Choice::covers(LocalRank rank, Streams stream) const {
  const auto named = by_rank.find(rank.value);
  return contains(named == by_rank.end() ? for_all : named->second, stream);
}

bool Selection::Choice::is_none() const {
  return for_all == Streams::None &&
         std::all_of(by_rank.begin(), by_rank.end(), [](const auto& entry) { return entry.second == Streams::None; });
}

Result<Selection::Choice> Selection::read_choice(const Sourced<std::string>& text) {
  constexpr const char* kExpected =
      "0, 1 (output), 2 (error) or 3 (both), or local ranks with one of these, such as 0:1,11:2";
  Choice choice;
  if (const auto streams = read_streams(text.value)) {
    choice.for_all = *streams;
    return choice;
  }
  for (const std::string& pair : split(text.value, ',')) {
    const std::size_t colon = pair.find(':');
    const auto rank = parse_integer(pair.substr(0, colon), 0, kMostRank);
    const auto streams = colon == std::string::npos ? std::nullopt : read_streams(pair.substr(colon + 1));
    if (!rank || !streams || !choice.by_rank.emplace(*rank, *streams).second) {
      return wrong_value(text, kExpected);
    }
  }
  return choice.by_rank.empty() ? Result<Choice>(wrong_value(text, kExpected)) : choice;
}

Result<std::set<int>> Selection::read_filter(const Sourced<std::string>& text) {
  std::set<int> ranks;
  for (const std::string& piece : split(text.value, ',')) {
    const auto rank = parse_integer(piece, 0, kMostRank);
    if (!rank) {
      return wrong_value(text, "local ranks separated by commas, such as 0,3");
    }
    ranks.insert(*rank);
  }
  return ranks;
}

Result<Selection> Selection::read(const SelectionOptions& options) {
  Selection selection;
  selection.names_streams_ = options.redirects || options.tee;
  if (options.has_folder) {
    selection.add_folder();
  }
  for (const auto& [text, target] :
       {std::pair(options.redirects, &selection.redirects_), std::pair(options.tee, &selection.tee_)}) {
    if (!text) {
      continue;
    }
    *target = TRY(read_choice(*text));
  }
  if (options.local_ranks && !options.local_ranks->value.empty()) {
    selection.console_ranks_ = TRY(read_filter(*options.local_ranks));
  }
  return selection;
}

void Selection::add_folder() {
  if (!names_streams_) {
    tee_.for_all = Streams::Both;
  }
}

bool Selection::needs_files() const {
  return !redirects_.is_none() || !tee_.is_none();
}

Destination Selection::of(LocalRank rank, Streams stream) const {
  const bool is_redirected = redirects_.covers(rank, stream);
  const bool is_teed = tee_.covers(rank, stream);
  const bool is_shown = !console_ranks_ || console_ranks_->contains(rank.value);
  return {.console = is_shown && (!is_redirected || is_teed), .file = is_redirected || is_teed};
}

// Prefix templates. Pure: the syntax is that of Python's string.Template, which torchrun uses for
// TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE.

namespace {

/// The first three are torchrun's.
constexpr auto kNames = std::to_array<std::string_view>(
    {"role_name", "local_rank", "rank", "global_rank", "role", "role_rank", "node_rank", "attempt", "hostname", "pid"});

/// The name that `text` begins with; empty if there is none.
std::string_view name_at_start(std::string_view text) {
  const bool begins_with_digit = !text.empty() && text.front() >= '0' && text.front() <= '9';
  const auto end = std::find_if_not(text.begin(), text.end(), [](char c) { return is_letter_or_digit(c) || c == '_'; });
  return begins_with_digit ? std::string_view() : text.substr(0, static_cast<std::size_t>(end - text.begin()));
}

/// A dollar sign and the name or character that belongs to it.
struct Reference {
  std::size_t length = 1;  ///< characters of the template
  bool is_name = false;
  std::string text = "$";  ///< the name, or the replacement text
};

/// Parses the dollar sign at the start of `rest`; one that begins no reference stands for itself.
Reference read_reference(std::string_view rest) {
  if (rest.starts_with("$$")) {
    return {2, false, "$"};
  }
  if (!rest.starts_with("${")) {
    const std::string_view name = name_at_start(rest.substr(1));
    return name.empty() ? Reference{} : Reference{1 + name.size(), true, std::string(name)};
  }
  const std::size_t end = rest.find('}');
  if (end == std::string_view::npos) {
    return {rest.size(), true, std::string(rest.substr(1))};  // with its open brace, so it is not a valid name
  }
  return {end + 1, true, std::string(rest.substr(2, end - 2))};
}

Error unknown_name(const Sourced<std::string>& text) {
  std::string names;
  for (const std::string_view name : kNames) {
    names += (names.empty() ? "${" : ", ${") + std::string(name) + "}";
  }
  return wrong_value(text, "a text with no other names than " + names);
}

}  // namespace

Result<PrefixTemplate> PrefixTemplate::read(const Sourced<std::string>& text, UnknownNames unknown_names) {
  PrefixTemplate result;
  std::string_view rest = text.value;
  while (!rest.empty()) {
    const std::size_t dollar = std::min(rest.find('$'), rest.size());
    if (dollar > 0) {
      result.pieces_.push_back({false, std::string(rest.substr(0, dollar))});
      rest.remove_prefix(dollar);
      continue;
    }
    Reference reference = read_reference(rest);
    const bool is_unknown =
        reference.is_name && std::find(kNames.begin(), kNames.end(), reference.text) == kNames.end();
    if (is_unknown && unknown_names == UnknownNames::Refused) {
      return unknown_name(text);
    }
    if (is_unknown) {
      reference = {reference.length, false, std::string(rest.substr(0, reference.length))};
    }
    result.pieces_.push_back({reference.is_name, std::move(reference.text)});
    rest.remove_prefix(reference.length);
  }
  return result;
}

bool PrefixTemplate::needs(std::string_view name) const {
  return std::any_of(pieces_.begin(), pieces_.end(),
                     [name](const Piece& piece) { return piece.is_name && piece.text == name; });
}

std::string PrefixTemplate::fill(const std::map<std::string, std::string>& values) const {
  std::string filled;
  for (const Piece& piece : pieces_) {
    if (!piece.is_name) {
      filled += piece.text;
    } else if (const auto value = values.find(piece.text); value != values.end()) {
      filled += value->second;
    }
  }
  return filled;
}

// Line filters. Pure.

namespace {

/// Splits at single commas; two in a row, read from the left, are a literal comma.
std::vector<std::string> split_texts(std::string_view value) {
  std::vector<std::string> texts(1);
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != ',') {
      texts.back() += value[i];
    } else if (i + 1 < value.size() && value[i + 1] == ',') {
      texts.back() += value[i++];
    } else {
      texts.emplace_back();
    }
  }
  return texts;
}

}  // namespace

Result<LineFilter> LineFilter::read(const Sourced<std::string>& setting) {
  LineFilter filter;
  if (setting.value.empty()) {
    return filter;
  }
  filter.texts_ = split_texts(setting.value);
  const auto is_nothing = [](const std::string& text) { return text.empty(); };
  if (std::any_of(filter.texts_.begin(), filter.texts_.end(), is_nothing)) {
    return wrong_value(setting, "texts separated by commas, with ',,' for a comma in a text");
  }
  return filter;
}

bool LineFilter::matches(std::string_view line) const {
  return std::any_of(texts_.begin(), texts_.end(),
                     [line](const std::string& text) { return line.find(text) != std::string_view::npos; });
}

}  // namespace muster
