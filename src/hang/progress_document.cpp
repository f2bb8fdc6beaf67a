// Ranks with the same progress in a group are one entry, and ranges of ranks are written as text.
#include "hang/progress_document.hpp"

#include "base/text.hpp"
#include "hang/json_fields.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace muster::hang {
namespace {

constexpr std::size_t kFieldsOfEntry = 4;

struct WrittenGroup {
  const GroupProgress* first = nullptr;
  std::map<std::tuple<std::int64_t, std::int64_t, std::string>, std::vector<int>> ranks;
};

json::object document_of(const WrittenGroup& group) {
  json::array entries;
  for (const auto& [counts, ranks] : group.ranks) {
    const auto& [enqueued, completed, operation] = counts;
    entries.push_back({enqueued, completed, valid_utf8(operation), describe_ranges(ranks)});
  }
  return {{"group", valid_utf8(group.first->group)},
          {"description", valid_utf8(group.first->description)},
          {"ranks", describe_ranges(group.first->ranks)},
          {"at", std::move(entries)}};
}

std::optional<std::vector<int>> ranks_of(const json::value* value, std::size_t most) {
  if (value == nullptr || !value->is_string()) {
    return {};
  }
  const std::string_view text = value->get_string();
  return text.empty() ? std::optional(std::vector<int>()) : parse_ranges(text, most);
}

std::int64_t known_count(const json::value& value) {
  return value.is_int64() ? std::max<std::int64_t>(value.get_int64(), -1) : -1;
}

/// The size of a rank's copy of the progress, in numbers.
std::size_t numbers_of(const GroupProgress& group) {
  const std::size_t texts = group.group.size() + group.description.size() + group.operation.size();
  return group.ranks.size() + (sizeof(GroupProgress) + texts) / sizeof(int);
}

/// Adds the ranks of one group, unless they would take more numbers than are left: a few bytes can name many ranks,
/// and each of them gets a copy of the texts and the members.
void read_group(const json::object& object, std::size_t& numbers_left, std::map<int, RankProgress>& progress) {
  auto members = ranks_of(object.if_contains("ranks"), numbers_left);
  const json::array* const entries = array_of(object, "at");
  if (!members || entries == nullptr) {
    return;
  }
  numbers_left -= members->size();
  GroupProgress group{line_of(object, "group"), line_of(object, "description"), std::move(*members), 0, 0, ""};
  for (const json::value& entry : *entries) {
    const json::array* const fields = entry.if_array();
    if (fields == nullptr || fields->size() != kFieldsOfEntry) {
      continue;
    }
    group.enqueued = known_count(fields->at(0));
    group.completed = known_count(fields->at(1));
    group.operation = line_of(&fields->at(2));
    const auto ranks = ranks_of(&fields->at(3), numbers_left / numbers_of(group));
    for (const int rank : ranks.value_or(std::vector<int>())) {
      progress[rank].rank = rank;
      progress[rank].groups.push_back(group);
    }
    numbers_left -= ranks ? ranks->size() * numbers_of(group) : 0;
  }
}

/// By name and first rank.
using WrittenGroups = std::map<std::pair<std::string, int>, WrittenGroup>;

WrittenGroups join_groups_of(const std::vector<RankProgress>& progress) {
  WrittenGroups by_name;
  for (const RankProgress& rank : progress) {
    for (const GroupProgress& group : rank.groups) {
      WrittenGroup& written = by_name[{group.group, group.ranks.empty() ? -1 : group.ranks.front()}];
      written.first = written.first == nullptr ? &group : written.first;
      written.ranks[{group.enqueued, group.completed, group.operation}].push_back(rank.rank);
    }
  }
  return by_name;
}

}  // namespace

json::array progress_document(const std::vector<RankProgress>& progress, std::size_t most_bytes) {
  const WrittenGroups by_name = join_groups_of(progress);
  std::vector<const WrittenGroup*> groups;
  groups.reserve(by_name.size());
  for (const auto& [name, group] : by_name) {
    groups.push_back(&group);
  }
  std::stable_partition(groups.begin(), groups.end(),
                        [](const WrittenGroup* group) { return group->ranks.size() != 1; });
  json::array document;
  for (const WrittenGroup* const group : groups) {
    json::object object = document_of(*group);
    const std::size_t bytes = json::serialize(object).size() + 1;
    if (bytes <= most_bytes) {
      most_bytes -= bytes;
      document.push_back(std::move(object));
    }
  }
  return document;
}

std::vector<RankProgress> read_progress(const json::array& document) {
  std::size_t numbers_left = kMostNumbers;
  std::map<int, RankProgress> progress;
  for_each_object(&document, [&](const json::object& group) { read_group(group, numbers_left, progress); });
  return list_of(progress);
}

}  // namespace muster::hang
