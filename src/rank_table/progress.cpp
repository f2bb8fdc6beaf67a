// Says of a table that is being written which instances are there and which are not.
#include "rank_table/progress.hpp"

#include "rank_table/document.hpp"
#include "rank_table/pod_number.hpp"

#include <muster/base/text.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace muster::rank_table {
namespace {

constexpr std::size_t kMostNames = 8;

/// What is there, over all groups.
struct Progress {
  std::size_t here = 0;
  std::size_t expected = 0;
  std::vector<std::string> missing;  ///< "index 2", "job-worker-1 has no devices"
};

std::string list_of(std::vector<std::string> names) {
  const std::size_t more = names.size() > kMostNames ? names.size() - kMostNames : 0;
  names.resize(names.size() - more);
  return join(names, ", ") + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

/// Instances without devices, and whose numbers no pod's name ends with.
void look_at_group(const json::object& group, Progress& progress) {
  static const json::array kNone;
  const json::array* list = array_of(group, "instance_list");
  std::set<int> numbers;
  for (const json::value& item : list == nullptr ? kNone : *list) {
    const json::object* instance = item.if_object();
    const json::array* devices = instance == nullptr ? nullptr : array_of(*instance, "devices");
    const std::string name(instance == nullptr ? "" : text_of(*instance, "pod_name"));
    if (devices == nullptr || devices->empty()) {
      progress.missing.push_back((name.empty() ? "an instance" : name) + " has no devices");
    } else {
      progress.here += 1;
    }
    const auto number = pod_number(name);
    numbers.insert(number && *number < 1'000'000'000 ? static_cast<int>(*number) : -1);
  }
  const std::size_t listed = list == nullptr ? 0 : list->size();
  const auto count = number_of(group.if_contains("instance_count"));
  progress.expected += std::max(listed, static_cast<std::size_t>(count.value_or(0)));
  std::vector<int> absent;
  for (int number = 0; listed < 100'000 && number < std::min(count.value_or(0), 100'000);
       ++number) {
    if (numbers.count(number) == 0) {
      absent.push_back(number);
    }
  }
  if (!absent.empty() && numbers.count(-1) == 0) {
    const std::string_view group_name = text_of(group, "group_name");
    progress.missing.push_back("no instance " + describe_ranges(absent) +
                               (group_name.empty() ? "" : " of group " + one_line(group_name, 60)));
  }
}

Progress look_at_groups(const json::array& groups) {
  Progress progress;
  for (const json::value& item : groups) {
    if (const json::object* group = item.if_object()) {
      look_at_group(*group, progress);
    }
  }
  return progress;
}

/// Lists of one level, whose names say which are there.
std::string describe_list(const json::array& list,
                          const json::value* count,
                          std::string_view name,
                          std::string_view noun) {
  std::vector<std::string> here;
  for (const json::value& item : list) {
    const json::object* object = item.if_object();
    const json::value* id = object == nullptr ? nullptr : object->if_contains(name);
    if (id != nullptr) {
      here.push_back(id->is_string() ? one_line(text_of(*object, name), 60) : written(id));
    }
  }
  const auto expected = number_of(count);
  return (expected ? std::to_string(here.size()) + " of " : "") +
         count_of(static_cast<std::size_t>(expected.value_or(static_cast<int>(here.size()))),
                  noun) +
         (here.size() == 1 ? " is there" : " are there") +
         (here.empty() ? "" : " (" + list_of(here) + ")");
}

std::string describe_progress(const json::object& root) {
  if (const json::array* groups = array_of(root, "group_list"); groups != nullptr) {
    const Progress progress = look_at_groups(*groups);
    if (progress.expected > 0) {
      return ": " + std::to_string(progress.here) + " of " +
             count_of(progress.expected, "instance") +
             (progress.here == 1 ? " is there" : " are there") +
             (progress.missing.empty() ? "" : ", " + list_of(progress.missing));
    }
  }
  if (const json::array* servers = array_of(root, "server_list")) {
    return ": " + describe_list(*servers, root.if_contains("server_count"), "server_id", "server");
  }
  if (const json::array* ranks = array_of(root, "rank_list")) {
    return ": " + describe_list(*ranks, root.if_contains("rank_count"), "rank_id", "rank");
  }
  return ": it lists nothing yet";
}

}  // namespace

std::optional<Unfinished> find_progress(const json::object& root) {
  const std::string_view status = text_of(root, "status");
  if (root.if_contains("status") == nullptr || status == "completed") {
    return std::nullopt;
  }
  if (status == "initializing") {
    return Unfinished{"initializing" + describe_progress(root)};
  }
  if (status == "unknown") {
    return Unfinished{"its writer says that the state is unknown" + describe_progress(root)};
  }
  return Unfinished{"its status is " + written(root.if_contains("status")) +
                    " and not 'completed'" + describe_progress(root)};
}

}  // namespace muster::rank_table
