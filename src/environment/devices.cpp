// Reads visibility lists, and counts accelerators by the files that their drivers create. Opens no driver, because a
// launcher that opens a device would keep it in use.
#include "environment/devices.hpp"

#include "base/encoding.hpp"
#include "base/text.hpp"
#include "environment/accelerators.hpp"
#include "environment/mounted_files.hpp"
#include "environment/snapshot.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <set>
#include <system_error>
#include <utility>

namespace muster {

// Reads lists of accelerators. CUDA accepts no ranges, and no list with duplicates. Sources: CUDA C++ Programming
// Guide, "CUDA Environment Variables"; CANN, "ASCEND_RT_VISIBLE_DEVICES"; Ascend Docker Runtime (ranges); Ascend
// Device Plugin (names); ROCm, "GPU isolation techniques".

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
  const auto last = dash == std::string_view::npos ? first : parse_integer(entry.substr(dash + 1), 0, kHighestNumber);
  return first && last && *first <= *last ? std::optional(Range{*first, *last}) : std::nullopt;
}

/// "Ascend910-3", as Kubernetes' device plugin names device 3.
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

/// Appends the range, up to one entry more than the limit.
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
  for (const std::string& piece : split(whole.substr(0, whole.size() - whole.ends_with(',')), ',')) {
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
  const bool is_list = !numbers.empty() && is_each_once && numbers.size() <= static_cast<std::size_t>(kMostDevices);
  return is_list ? std::optional(std::move(numbers)) : std::nullopt;
}

namespace {

constexpr std::string_view kIntel = "0x8086";
constexpr std::string_view kHabana = "0x1da3";
constexpr std::string_view kGoogle = "0x1ae0";

/// True for a KFD node with SIMD units, which is a GPU; processors are nodes without them. Source: Linux,
/// drivers/gpu/drm/amd/amdkfd, sysfs file "properties".
bool is_amd_gpu(const std::string& properties) {
  const auto values = read_properties(properties);
  const auto units = values.find("simd_count");
  return units != values.end() && units->second > 0;
}

/// Source: AWS Neuron, "Neuron Sysfs User Guide", core_count.
int count_neuron_cores(const std::string& root, int device) {
  const std::string count =
      first_line(root + "/sys/class/neuron_device/neuron" + std::to_string(device) + "/core_count");
  constexpr int kMost = 1'024;
  constexpr int kUsual = 2;  // of Trainium 1 and Inferentia 2
  return parse_integer(count, 1, kMost).value_or(kUsual);
}

/// Counts Gaudi devices only: the kernel's class accel has those of other vendors as well. Source: Linux,
/// drivers/accel.
int count_gaudi(const std::string& root) {
  int count = 0;
  for (const int number : numbered_entries(root + "/dev/accel", "accel")) {
    const std::string folder = root + "/sys/class/accel/accel" + std::to_string(number);
    count += first_line(folder + "/device/vendor") == kHabana ? 1 : 0;
  }
  return count;
}

/// Counts GPUs of the class "other display controller": GPUs in processors and desktop GPUs are VGA controllers. The
/// driver xe has a directory for each tile.
void count_intel(HostDevices& devices, const std::string& root) {
  for (const int number : numbered_entries(root + "/dev/dri", "renderD")) {
    const std::string folder = root + "/sys/class/drm/renderD" + std::to_string(number) + "/device";
    if (first_line(folder + "/vendor") == kIntel && first_line(folder + "/class").starts_with("0x0380")) {
      ++devices.intel;
      devices.intel_tiles += std::max(1, static_cast<int>(numbered_entries(folder, "tile").size()));
    }
  }
}

/// Counts the VFIO groups of newer generations, which have no device file of their own. Google's network cards have
/// the same vendor. Source: JAX, hardware_utils.py.
int count_tpu_chips(const std::string& root, int files) {
  constexpr std::array<std::string_view, 9> kChips = {"0x0027", "0x0056", "0x005e", "0x0062", "0x0063",
                                                      "0x006f", "0x0076", "0x0083", "0x007c"};
  const int groups = static_cast<int>(numbered_entries(root + "/dev/vfio", "").size());
  const std::string functions = root + "/sys/bus/pci/devices/";
  int chips = 0;
  for (const std::string& name : entries_of(files + groups == 0 ? "" : functions)) {
    const std::string folder = functions + name;
    const bool is_googles = name.front() != '.' && first_line(folder + "/vendor") == kGoogle;
    const std::string kind = is_googles ? first_line(folder + "/device") : "";
    chips += contains(kChips, kind) ? 1 : 0;
  }
  return std::min(chips, std::max(files, groups));
}

/// Directories with device files besides /dev itself. Each look in vain slows down every start.
struct DeviceDirectory {
  bool has_folders = false;
  int tpu_files = 0;
};

void note_file(HostDevices& devices, DeviceDirectory& elsewhere, std::string_view name, const std::string& root) {
  devices.nvidia += number_behind("nvidia", name) ? 1 : 0;
  devices.gaudi += number_behind("hl", name) ? 1 : 0;  // of its older driver
  elsewhere.tpu_files += number_behind("accel", name) ? 1 : 0;
  elsewhere.has_folders = elsewhere.has_folders || name == "accel" || name == "dri" || name == "vfio";
  if (const auto id = number_behind("davinci", name)) {
    devices.ascend_ids.push_back(*id);
  }
  if (const auto id = number_behind("neuron", name)) {
    devices.cores_of_neuron = count_neuron_cores(root, *id);
    devices.neuron_cores += devices.cores_of_neuron;
  }
}

}  // namespace

HostDevices count_host_devices(const std::string& root) {
  HostDevices devices;
  DeviceDirectory elsewhere;
  for (const std::string& name : entries_of(root + "/dev")) {
    note_file(devices, elsewhere, name, root);
  }
  std::ranges::sort(devices.ascend_ids);
  devices.ascend = static_cast<int>(devices.ascend_ids.size());
  const std::string kfd_nodes = root + "/sys/class/kfd/kfd/topology/nodes";
  for (const int node : numbered_entries(kfd_nodes, "")) {
    devices.amd += is_amd_gpu(kfd_nodes + "/" + std::to_string(node) + "/properties") ? 1 : 0;
  }
  const bool has_any = devices.nvidia + devices.ascend + devices.amd + devices.neuron_cores > 0;
  if (!has_any && (elsewhere.has_folders || elsewhere.tpu_files > 0)) {
    devices.gaudi = std::max(devices.gaudi, count_gaudi(root));
    count_intel(devices, root);
    devices.tpu = count_tpu_chips(root, elsewhere.tpu_files);
  }
  return devices;
}

std::string read_device_view() {
  const std::string boot = first_line("/proc/sys/kernel/random/boot_id");
  std::error_code error;
  const std::string mounts = std::filesystem::read_symlink("/proc/self/ns/mnt", error).string();
  if (boot.empty() || mounts.empty()) {
    return {};
  }
  std::string view = boot + " " + mounts;
  for (const char* const start :
       {"/dev/nvidia", "/dev/davinci", "/dev/dri/renderD", "/dev/neuron", "/dev/accel/accel"}) {
    const std::filesystem::path files(start);
    for (const int number : numbered_entries(files.parent_path(), files.filename().string())) {
      const std::string file = start + std::to_string(number);
      view += ::access(file.c_str(), R_OK | W_OK) == 0 ? " " + file : "";
    }
  }
  return digest_of(view);
}

// Translates between host numbers of Ascend devices and the numbers of a process's runtime. Sources: CANN,
// "ASCEND_RT_VISIBLE_DEVICES" (positions among what the container shows); Ascend Docker Runtime,
// "ASCEND_VISIBLE_DEVICES" (numbers on the host; devices are counted from 0 in the container).

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

bool has_all(const std::vector<int>& numbers, const std::vector<int>& wanted) {
  return std::ranges::all_of(wanted, [&](int one) { return contains(numbers, one); });
}

/// The devices in the order in which the runtime counts. Its list has positions among the shown devices; a number
/// that is no position is a host number.
std::vector<int> counted_devices(const Snapshot& snapshot) {
  std::vector<int> shown = ascend_devices_of_container(snapshot);
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

std::vector<int> ascend_devices_of_container(const Snapshot& snapshot) {
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
  std::vector<int> visible = counted_devices(snapshot);
  std::erase_if(visible, [&](int device) { return !contains(given, device); });
  return visible.empty() ? given : visible;
}

std::vector<int> files_without_ascend_devices(const Snapshot& snapshot, const std::vector<int>& devices) {
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
    std::ranges::sort(counted);
  }
  std::vector<int> numbers;
  for (const int device : devices) {
    const auto at = std::ranges::find(counted, device);
    numbers.push_back(static_cast<int>(at - counted.begin()));
  }
  return numbers;
}

}  // namespace muster
