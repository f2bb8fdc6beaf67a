// Counts accelerators by the files that their drivers create. Opens no driver: a launcher that
// touches a device holds it.
#include <muster/base/text.hpp>
#include <muster/environment/snapshot.hpp>

#include <dirent.h>

#include <fstream>
#include <functional>
#include <memory>

namespace muster {
namespace {

/// Calls `visit` with the name of each entry of a folder; a missing folder has none.
void for_each_entry(const char* folder, const std::function<void(std::string_view)>& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(folder), &::closedir);
  while (directory) {
    const dirent* const entry = ::readdir(directory.get());  // NOLINT(concurrency-mt-unsafe)
    if (entry == nullptr) {
      return;
    }
    visit(entry->d_name);
  }
}

/// "nvidia0" is a device, "nvidiactl" and "nvidia-uvm" are not.
bool is_numbered(std::string_view name, std::string_view prefix) {
  return name.starts_with(prefix) &&
         parse_integer(name.substr(prefix.size()), 0, 1'000'000).has_value();
}

/// A KFD node is a GPU when it has SIMD units; processors are nodes too and have none.
/// Source: Linux, drivers/gpu/drm/amd/amdkfd, sysfs file "properties".
bool is_amd_gpu(const std::string& properties) {
  std::ifstream file(properties);
  std::string name;
  for (long long value = 0; file >> name >> value;) {
    if (name == "simd_count") {
      return value > 0;
    }
  }
  return false;
}

}  // namespace

HostDevices count_host_devices() {
  HostDevices devices;
  for_each_entry("/dev", [&](std::string_view name) {
    devices.nvidia += is_numbered(name, "nvidia") ? 1 : 0;
    devices.ascend += is_numbered(name, "davinci") ? 1 : 0;
  });
  const char* const kfd_nodes = "/sys/class/kfd/kfd/topology/nodes";
  for_each_entry(kfd_nodes, [&](std::string_view name) {
    const bool is_node = parse_integer(name, 0, 1'000'000).has_value();
    const std::string properties = std::string(kfd_nodes) + "/" + std::string(name) + "/properties";
    devices.amd += is_node && is_amd_gpu(properties) ? 1 : 0;
  });
  return devices;
}

}  // namespace muster
