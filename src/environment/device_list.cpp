// Reads lists of accelerators. Sources: CUDA C++ Programming Guide, "CUDA Environment Variables"; CANN,
// "ASCEND_RT_VISIBLE_DEVICES"; Ascend Docker Runtime (ranges); ROCm, "GPU isolation techniques".
#include <muster/base/text.hpp>
#include <muster/environment/device_list.hpp>

#include <set>

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

}  // namespace

std::vector<DeviceEntry> read_device_list(std::string_view list) {
  std::vector<DeviceEntry> entries;
  for (const std::string& piece : split(list, ',')) {
    const std::string entry(trim(piece));
    const auto range = read_range(entry);
    if (!range && !entry.starts_with("GPU-") && !entry.starts_with("MIG-")) {
      break;
    }
    if (!range) {
      entries.push_back({std::nullopt, entry});
    }
    for (int i = range ? range->first : 1; i <= (range ? range->last : 0); ++i) {
      entries.push_back({i, std::to_string(i)});
      if (entries.size() > static_cast<std::size_t>(kMostDevices)) {
        return entries;
      }
    }
  }
  return entries;
}

std::optional<std::vector<int>> read_device_numbers(std::string_view list) {
  std::vector<int> numbers;
  std::set<int> seen;
  for (const std::string& entry : split(list, ',')) {
    const auto range = read_range(entry);
    if (!range || range->last - range->first >= kMostDevices) {
      return std::nullopt;
    }
    for (int i = range->first; i <= range->last; ++i) {
      if (!seen.insert(i).second || seen.size() > static_cast<std::size_t>(kMostDevices)) {
        return std::nullopt;
      }
      numbers.push_back(i);
    }
  }
  return numbers.empty() ? std::nullopt : std::optional(std::move(numbers));
}

}  // namespace muster
