// Reads lists of accelerators. Sources: CUDA C++ Programming Guide, "CUDA Environment Variables"; CANN,
// "ASCEND_RT_VISIBLE_DEVICES"; Ascend Docker Runtime (ranges); Ascend Device Plugin (names); ROCm, "GPU isolation techniques". CUDA knows no
// ranges, and takes no list that has a device twice.
#include "base/text.hpp"
#include "environment/devices.hpp"

#include <set>
#include <utility>

namespace muster {
namespace {

constexpr int kHighestNumber = 1'000'000;

struct Range {
  int first;
  int last;
};

/// "3" or "0-3".
std::optional<Range> read_range(std::string_view entry) {
  const std::size_t dash = entry.find('-');
  const auto first = parse_integer(entry.substr(0, dash), 0, kHighestNumber);
  const auto last = dash == std::string_view::npos
                        ? first
                        : parse_integer(entry.substr(dash + 1), 0, kHighestNumber);
  return first && last && *first <= *last ? std::optional(Range{*first, *last}) : std::nullopt;
}

/// "Ascend910-3", as Kubernetes' device plugin calls device 3.
std::optional<Range> read_ascend(std::string_view entry) {
  const std::size_t dash = entry.find('-');
  if (!entry.starts_with("Ascend") || dash == std::string_view::npos) {
    return std::nullopt;
  }
  const auto number = parse_integer(entry.substr(dash + 1), 0, kHighestNumber);
  return number ? std::optional(Range{*number, *number}) : std::nullopt;
}

/// "0.1": a tile of one of Intel's GPUs.
bool is_tile(std::string_view entry) {
  const std::size_t dot = entry.find('.');
  return dot != std::string_view::npos && parse_integer(entry.substr(0, dot), 0, kHighestNumber) &&
         parse_integer(entry.substr(dot + 1), 0, kHighestNumber);
}

bool is_name(std::string_view entry) {
  return entry.starts_with("GPU-") || entry.starts_with("MIG-");
}

/// As many of the range as there is room for, and one more.
void append(std::vector<DeviceEntry>& entries, const Range& range) {
  constexpr auto kMost = static_cast<std::size_t>(kMostDevices) + 1;
  for (int i = range.first; i <= range.last && entries.size() < kMost; ++i) {
    entries.push_back({i, std::to_string(i)});
  }
}

}  // namespace

std::vector<DeviceEntry> read_device_list(std::string_view list) {
  std::vector<DeviceEntry> entries;
  for (const std::string& piece : split(list, ',')) {
    const std::string entry(trim(piece));
    auto range = read_range(entry);
    range = range ? range : read_ascend(entry);
    const bool is_full = entries.size() > static_cast<std::size_t>(kMostDevices);
    if (is_full || (!range && !is_name(entry) && !is_tile(entry))) {
      break;
    }
    if (range) {
      append(entries, *range);
    } else {
      entries.push_back({std::nullopt, entry});
    }
  }
  return entries;
}

bool is_plain_device_list(std::string_view list) {
  const std::string_view whole = trim(list);
  if (whole.empty() || whole == "none" || whole == "void" || whole == "NoDevFiles") {
    return true;
  }
  std::set<std::string> seen;
  for (const std::string& piece :
       split(whole.substr(0, whole.size() - whole.ends_with(',')), ',')) {
    const std::string entry(trim(piece));
    if (entry == "-1") {
      return true;
    }
    const bool is_device = parse_integer(entry, 0, kHighestNumber) || is_name(entry);
    if (!is_device || !seen.insert(entry).second) {
      return false;
    }
  }
  return !seen.empty();
}

std::optional<std::vector<int>> read_device_numbers(std::string_view list) {
  std::vector<DeviceEntry> entries;
  for (const std::string& entry : split(list, ',')) {
    const auto range = read_range(entry);
    if (!range) {
      return std::nullopt;
    }
    append(entries, *range);
  }
  std::vector<int> numbers;
  numbers.reserve(entries.size());
  for (const DeviceEntry& entry : entries) {
    numbers.push_back(*entry.number);
  }
  const bool is_each_once = std::set<int>(numbers.begin(), numbers.end()).size() == numbers.size();
  const bool is_list =
      !numbers.empty() && is_each_once && numbers.size() <= static_cast<std::size_t>(kMostDevices);
  return is_list ? std::optional(std::move(numbers)) : std::nullopt;
}

}  // namespace muster
