// Ascend devices by their numbers on the host, and as the runtime of a process counts them. Pure.
// Sources: CANN, "ASCEND_RT_VISIBLE_DEVICES" (places among what the container shows); Ascend Docker Runtime,
// "ASCEND_VISIBLE_DEVICES" (numbers on the host; devices are counted from 0 in the container).
#include "environment/accelerators.hpp"
#include "environment/devices.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace muster {
namespace {

std::vector<int> numbers_of(const Snapshot& snapshot, const char* variable) {
  std::vector<int> numbers;
  for (const DeviceEntry& entry : read_device_list(snapshot.variable(variable).value_or(""))) {
    if (entry.number) {
      numbers.push_back(*entry.number);
    }
  }
  return numbers;
}

std::vector<int> given_to_container(const Snapshot& snapshot) {
  return numbers_of(snapshot, "ASCEND_VISIBLE_DEVICES");
}

bool has(const std::vector<int>& numbers, int number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

bool has_all(const std::vector<int>& numbers, const std::vector<int>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](int one) { return has(numbers, one); });
}

/// In the order in which the runtime counts. Its list has places of what is shown; a number that is no place
/// is meant as the host's.
std::vector<int> counted_devices(const Snapshot& snapshot) {
  std::vector<int> shown = shown_ascend_devices(snapshot);
  std::vector<int> counted = numbers_of(snapshot, "ASCEND_RT_VISIBLE_DEVICES");
  if (counted.empty()) {
    return shown;
  }
  for (int& place : counted) {
    const auto at = static_cast<std::size_t>(place);
    place = at < shown.size() ? shown[at] : place;
  }
  return counted;
}

}  // namespace

std::vector<int> shown_ascend_devices(const Snapshot& snapshot) {
  std::vector<int> given = given_to_container(snapshot);
  std::vector<int> files = snapshot.devices.ascend_ids;
  if (files.empty()) {
    files.resize(static_cast<std::size_t>(snapshot.devices.ascend));
    std::iota(files.begin(), files.end(), 0);
  }
  const bool is_given = !given.empty() && (files.empty() || files.size() == given.size());
  return is_given ? std::move(given) : std::move(files);
}

std::vector<int> visible_ascend_devices(const Snapshot& snapshot) {
  const std::vector<int> given = given_to_container(snapshot);
  const bool is_chosen = !numbers_of(snapshot, "ASCEND_RT_VISIBLE_DEVICES").empty();
  if (given.empty() || !is_chosen) {
    return is_chosen ? counted_devices(snapshot) : given;
  }
  std::vector<int> escape_controls = counted_devices(snapshot);
  std::erase_if(escape_controls, [&](int device) { return !has(given, device); });
  return escape_controls.empty() ? given : escape_controls;
}

std::vector<int> files_without_ascend_devices(const Snapshot& snapshot,
                                              const std::vector<int>& devices) {
  const std::vector<int> counted = counted_devices(snapshot);
  const bool are_there = has_all(counted, devices) || counted.size() == devices.size();
  return are_there ? std::vector<int>() : snapshot.devices.ascend_ids;
}

std::vector<int> ascend_runtime_numbers(const Snapshot& snapshot, const std::vector<int>& devices) {
  std::vector<int> counted = counted_devices(snapshot);
  if (!has_all(counted, devices)) {
    if (counted.size() != devices.size()) {
      return devices;
    }
    counted = devices;
    std::sort(counted.begin(), counted.end());
  }
  std::vector<int> numbers;
  for (const int device : devices) {
    const auto at = std::find(counted.begin(), counted.end(), device);
    numbers.push_back(static_cast<int>(at - counted.begin()));
  }
  return numbers;
}

}  // namespace muster
