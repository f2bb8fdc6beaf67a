// Counts accelerators by the files that their drivers create. Opens no driver: a launcher that
// touches a device holds it.
#include "environment/files.hpp"

#include "base/text.hpp"
#include "environment/snapshot.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace muster {
namespace {

constexpr std::string_view kIntel = "0x8086";
constexpr std::string_view kHabana = "0x1da3";
constexpr std::string_view kGoogle = "0x1ae0";

/// A KFD node is a GPU when it has SIMD units; processors are nodes too and have none.
/// Source: Linux, drivers/gpu/drm/amd/amdkfd, sysfs file "properties".
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

/// Other makers' accelerators are of the kernel's class accel as well. Source: Linux, drivers/accel.
int count_gaudi(const std::string& root) {
  int count = 0;
  for (const int number : numbered_entries(root + "/dev/accel", "accel")) {
    const std::string folder = root + "/sys/class/accel/accel" + std::to_string(number);
    count += first_line(folder + "/device/vendor") == kHabana ? 1 : 0;
  }
  return count;
}

/// GPUs of the class "other display controller": those that are built into processors, and those of desks, are VGA
/// controllers. The driver xe has a folder for each tile.
void count_intel(HostDevices& devices, const std::string& root) {
  for (const int number : numbered_entries(root + "/dev/dri", "renderD")) {
    const std::string folder = root + "/sys/class/drm/renderD" + std::to_string(number) + "/device";
    if (first_line(folder + "/vendor") == kIntel &&
        first_line(folder + "/class").starts_with("0x0380")) {
      ++devices.intel;
      devices.intel_tiles += std::max(1, static_cast<int>(numbered_entries(folder, "tile").size()));
    }
  }
}

/// Newer generations have no device file of their own, but a group of VFIO. Google's network cards have the same vendor.
/// Source: JAX, hardware_utils.py.
int count_tpu_chips(const std::string& root, int files) {
  constexpr std::array<std::string_view, 9> kChips = {
      "0x0027", "0x0056", "0x005e", "0x0062", "0x0063", "0x006f", "0x0076", "0x0083", "0x007c"};
  const int groups = static_cast<int>(numbered_entries(root + "/dev/vfio", "").size());
  const std::string functions = root + "/sys/bus/pci/devices";
  int chips = 0;
  for_each_entry(files + groups == 0 ? "" : functions, [&](std::string_view name) {
    const std::string folder = functions + "/" + std::string(name);
    const bool is_googles = name.front() != '.' && first_line(folder + "/vendor") == kGoogle;
    const std::string kind = is_googles ? first_line(folder + "/device") : "";
    chips += std::find(kChips.begin(), kChips.end(), kind) != kChips.end() ? 1 : 0;
  });
  return std::min(chips, std::max(files, groups));
}

/// Places of devices that have no file of their own in /dev. Each that is looked into for nothing costs every start.
struct DeviceDirectory {
  bool has_folders = false;
  int tpu_files = 0;
};

void note_file(HostDevices& devices,
               DeviceDirectory& elsewhere,
               std::string_view name,
               const std::string& root) {
  devices.nvidia += number_behind("nvidia", name) ? 1 : 0;
  devices.gaudi += number_behind("hl", name) ? 1 : 0;  // of its older driver
  elsewhere.tpu_files += number_behind("accel", name) ? 1 : 0;
  elsewhere.has_folders =
      elsewhere.has_folders || name == "accel" || name == "dri" || name == "vfio";
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
  for_each_entry(root + "/dev",
                 [&](std::string_view name) { note_file(devices, elsewhere, name, root); });
  std::sort(devices.ascend_ids.begin(), devices.ascend_ids.end());
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

}  // namespace muster
