#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// One accelerator in a list such as the value of CUDA_VISIBLE_DEVICES.
struct DeviceEntry {
  std::optional<int> number;  ///< empty: the device has a name
  std::string text;           ///< spelled for the runtimes: "3", "GPU-5b6f"
};

/// Reads a visibility list: numbers, ranges as in 0-3, names as in GPU-<uuid> or MIG-<uuid>, and Ascend910-3 for 3,
/// in their order. As in the runtimes, the list ends at its first entry that is no device: "0,1,-1,2" has two, "-1"
/// none. Reads at most `kMostDevices` + 1 entries.
std::vector<DeviceEntry> read_device_list(std::string_view list);

/// True when GPU runtimes accept the list as read: single devices without duplicates, up to a "-1" that hides the
/// rest, or a word that hides all, such as "none".
bool is_plain_device_list(std::string_view list);

inline constexpr int kMostDevices = 65'536;

/// Reads "0,2,4-7": numbers and ranges, each device once. Empty: `list` is not such a list.
std::optional<std::vector<int>> read_device_numbers(std::string_view list);

}  // namespace muster
