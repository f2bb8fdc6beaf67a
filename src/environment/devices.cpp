// Counts accelerators by the files that their drivers create. Opens no driver: a launcher that
// touches a device holds it.
#include "files.hpp"

#include <muster/environment/snapshot.hpp>

#include <algorithm>

namespace muster {
namespace {

/// A KFD node is a GPU when it has SIMD units; processors are nodes too and have none.
/// Source: Linux, drivers/gpu/drm/amd/amdkfd, sysfs file "properties".
bool is_amd_gpu(const std::string& properties) {
  const auto values = read_properties(properties);
  const auto units = values.find("simd_count");
  return units != values.end() && units->second > 0;
}

}  // namespace

HostDevices count_host_devices() {
  HostDevices devices;
  for_each_entry("/dev", [&](std::string_view name) {
    devices.nvidia += number_behind("nvidia", name) ? 1 : 0;
    if (const auto id = number_behind("davinci", name)) {
      devices.ascend_ids.push_back(*id);
    }
  });
  std::sort(devices.ascend_ids.begin(), devices.ascend_ids.end());
  devices.ascend = static_cast<int>(devices.ascend_ids.size());
  const std::string kfd_nodes = "/sys/class/kfd/kfd/topology/nodes";
  for (const int node : numbered_entries(kfd_nodes, "")) {
    devices.amd += is_amd_gpu(kfd_nodes + "/" + std::to_string(node) + "/properties") ? 1 : 0;
  }
  return devices;
}

}  // namespace muster
