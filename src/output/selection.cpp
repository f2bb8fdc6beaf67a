// torchrun's --redirects, --tee and --local-ranks-filter, for ranks of any number of digits.
#include "base/text.hpp"
#include "output/selection.hpp"

#include <algorithm>

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
         std::all_of(by_rank.begin(), by_rank.end(), [](const auto& entry) {
           return entry.second == Streams::None;
         });
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
    const auto streams =
        colon == std::string::npos ? std::nullopt : read_streams(pair.substr(colon + 1));
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
  for (const auto& [text, target] : {std::pair(options.redirects, &selection.redirects_),
                                     std::pair(options.tee, &selection.tee_)}) {
    if (!text) {
      continue;
    }
    auto choice = read_choice(*text);
    if (!choice) {
      return choice.error();
    }
    *target = std::move(*choice);
  }
  if (options.local_ranks && !options.local_ranks->value.empty()) {
    auto ranks = read_filter(*options.local_ranks);
    if (!ranks) {
      return ranks.error();
    }
    selection.console_ranks_ = std::move(*ranks);
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

}  // namespace muster
