#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// One accelerator in a list such as the value of CUDA_VISIBLE_DEVICES.
struct DeviceEntry {
  std::optional<int> number;  ///< empty: it is named
  std::string text;           ///< as the runtimes take it: "3", "GPU-5b6f"
};

/// The one reader of such lists: numbers, ranges as in 0-3, names as in GPU-<uuid> or MIG-<uuid>, and
/// Ascend910-3 for 3, in their order. As in the runtimes the list ends at its first entry that is no device: "0,1,-1,2" has two,
/// "-1" none. No more than one above `kMostDevices` are read.
[[nodiscard]] std::vector<DeviceEntry> read_device_list(std::string_view list);

/// True when the runtimes of GPUs take the list as it reads: each device by itself and once, up to a "-1"
/// that hides the others; or one of the words that hide all, such as "none".
[[nodiscard]] bool is_plain_device_list(std::string_view list);

inline constexpr int kMostDevices = 65'536;

/// "0,2,4-7" as written by people: numbers and ranges, each device once. Empty: it is no such list.
[[nodiscard]] std::optional<std::vector<int>> read_device_numbers(std::string_view list);

}  // namespace muster
