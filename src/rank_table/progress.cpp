// Says of a table that is being written which instances are there and which are not.
#include "rank_table/progress.hpp"

#include "rank_table/document.hpp"
#include "rank_table/pod_number.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace muster::rank_table {
namespace {

constexpr std::size_t kMostNames = 8;
constexpr std::size_t kMostBytes = 60;  ///< of a name

/// What is there, over all groups.
struct Progress {
  std::size_t expected = 0;
  std::vector<std::string> here;     ///< names of pods
  std::vector<std::string> missing;  ///< "no instance 2", "job-worker-1 has no devices"
};

std::string list_of(std::vector<std::string> names) {
  const std::size_t more = names.size() > kMostNames ? names.size() - kMostNames : 0;
  names.resize(names.size() - more);
  return join(names, ", ") + (more == 0 ? "" : " and " + std::to_string(more) + " more");
}

/// The numbers below `count` that are not there; -1 is one that nobody could read, so that none is missed.
std::vector<int> absent_numbers(const std::set<int>& numbers, int count) {
  constexpr int kMostNumbers = 100'000;
  std::vector<int> absent;
  for (int number = 0; numbers.count(-1) == 0 && number < std::min(count, kMostNumbers); ++number) {
    if (numbers.count(number) == 0) {
      absent.push_back(number);
    }
  }
  return absent;
}

/// Counts the instance, and says what it lacks; the value is the number that its pod's name ends with.
int look_at_instance(const json::object& instance, Progress& progress) {
  const json::array* devices = array_of(instance, "devices");
  const std::string pod = one_line(text_of(instance, "pod_name"), kMostBytes);
  const std::string name = pod.empty() ? "an instance" : pod;
  if (devices == nullptr || devices->empty()) {
    progress.missing.push_back(name + " has no devices");
  } else {
    progress.here.push_back(name);
  }
  const auto number = pod_number(pod);
  return number && *number <= std::numeric_limits<int>::max() ? static_cast<int>(*number) : -1;
}

/// Instances without devices, and whose numbers no pod's name ends with.
void look_at_group(const json::object& group, Progress& progress) {
  const json::array* list = array_of(group, "instance_list");
  std::set<int> numbers;
  for_each_object(list, [&](const json::object& instance) {
    numbers.insert(look_at_instance(instance, progress));
  });
  const int count = number_of(group.if_contains("instance_count")).value_or(0);
  progress.expected +=
      std::max(list == nullptr ? 0 : list->size(), static_cast<std::size_t>(count));
  const std::vector<int> absent = absent_numbers(numbers, count);
  if (!absent.empty()) {
    const std::string name = one_line(text_of(group, "group_name"), kMostBytes);
    progress.missing.push_back("no instance " + describe_ranges(absent) +
                               (name.empty() ? "" : " of group " + name));
  }
}

Progress look_at_groups(const json::array& groups) {
  Progress progress;
  for_each_object(&groups,
                  [&progress](const json::object& group) { look_at_group(group, progress); });
  return progress;
}

/// A list of one level: what is there, by the name that each has.
Progress look_at_list(const json::array& list, const json::value* count, std::string_view key) {
  Progress progress;
  for_each_object(&list, [&](const json::object& object) {
    if (object.contains(key)) {
      progress.here.push_back(one_line(plain_text(object, key), kMostBytes));
    }
  });
  progress.expected =
      std::max(progress.here.size(), static_cast<std::size_t>(number_of(count).value_or(0)));
  return progress;
}

/// ": 2 of 3 servers are there (10.0.0.1, 10.0.0.2)"
std::string describe(const Progress& progress, std::string_view noun) {
  return ": " + std::to_string(progress.here.size()) + " of " + count_of(progress.expected, noun) +
         (progress.here.size() == 1 ? " is there" : " are there") +
         (progress.here.empty() ? "" : " (" + list_of(progress.here) + ")") +
         (progress.missing.empty() ? "" : ", " + list_of(progress.missing));
}

std::string describe_progress(const json::object& root) {
  if (const json::array* groups = array_of(root, "group_list"); groups != nullptr) {
    return describe(look_at_groups(*groups), "instance");
  }
  if (const json::array* servers = array_of(root, "server_list"); servers != nullptr) {
    return describe(look_at_list(*servers, root.if_contains("server_count"), "server_id"),
                    "server");
  }
  if (const json::array* ranks = array_of(root, "rank_list"); ranks != nullptr) {
    return describe(look_at_list(*ranks, root.if_contains("rank_count"), "rank_id"), "rank");
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
