// Finds the PCI address of each accelerator in the files of its driver, and from there the NUMA
// node. The order is that of the vendor's runtime, as far as it can be known without asking it.
#include "environment/accelerator_places.hpp"

#include "environment/files.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>

namespace muster {
namespace {

std::string pci_folder(const std::string& root) {
  return root + "/sys/bus/pci/devices";
}

/// What the kernel says of the device at an address: a node, or -1 where it does not know.
int numa_node_of(const std::string& root, const std::string& address) {
  const std::string node = first_line(pci_folder(root) + "/" + address + "/numa_node");
  return parse_integer(node, 0, 1'000'000).value_or(-1);
}

/// Addresses of the PCI functions of a vendor whose class begins so, in PCI order.
std::vector<std::string> pci_functions(const std::string& root,
                                       std::string_view vendor,
                                       std::string_view class_start) {
  std::vector<std::string> addresses;
  for_each_entry(pci_folder(root), [&](std::string_view name) {
    const std::string folder = pci_folder(root) + "/" + std::string(name);
    if (name.front() != '.' && first_line(folder + "/vendor") == vendor &&
        first_line(folder + "/class").starts_with(class_start)) {
      addresses.emplace_back(name);
    }
  });
  std::sort(addresses.begin(), addresses.end());
  return addresses;
}

// --- NVIDIA --------------------------------------------------------------------------------------

/// The driver's own list. In a container it may show GPUs of others, whose device files are missing.
/// Source: the driver's README, "The /proc interface", file gpus/<address>/information.
std::vector<Accelerator> nvidia_by_driver(const std::string& root) {
  const std::vector<int> files = numbered_entries(root + "/dev", "nvidia");
  const std::string folder = root + "/proc/driver/nvidia/gpus";
  std::vector<Accelerator> gpus;
  for_each_entry(folder, [&](std::string_view name) {
    const auto fields = read_fields(folder + "/" + std::string(name) + "/information");
    const auto field = [&](const char* key) {
      const auto at = fields.find(key);
      return at == fields.end() ? std::string() : at->second;
    };
    const auto minor = parse_integer(field("Device Minor"), 0, 1'000'000);
    if (!minor || !std::binary_search(files.begin(), files.end(), *minor)) {
      return;
    }
    const std::string address = lower_case(std::string(name));
    gpus.push_back({address, field("GPU UUID"), field("Model"), numa_node_of(root, address)});
  });
  std::sort(gpus.begin(), gpus.end(), [](const Accelerator& left, const Accelerator& right) {
    return left.address < right.address;
  });
  return gpus;
}

/// Without that list the PCI bus tells, unless it shows more GPUs than this container has. Classes
/// are 0x0300 (VGA) and 0x0302 (3D controller).
std::vector<Accelerator> find_nvidia(const std::string& root) {
  std::vector<Accelerator> gpus = nvidia_by_driver(root);
  const std::size_t files = numbered_entries(root + "/dev", "nvidia").size();
  if (gpus.size() == files) {
    return gpus;
  }
  const std::vector<std::string> addresses = pci_functions(root, "0x10de", "0x030");
  gpus.assign(files, {});
  for (std::size_t i = 0; i < files && addresses.size() == files; ++i) {
    gpus[i].address = addresses[i];
    gpus[i].numa_node = numa_node_of(root, addresses[i]);
  }
  return gpus;
}

// --- Ascend --------------------------------------------------------------------------------------

/// The number of an NPU; nothing when no table says it. NPUs are not numbered in PCI order: a table of
/// the driver has lines "c1:00.0 ---> 0" for all of them, with or without the domain.
/// Source: the driver's attribute devdrv_sysfs_bdf_to_devid.
std::optional<int> npu_number(const std::string& root, const std::string& function) {
  std::ifstream table(pci_folder(root) + "/" + function + "/devdrv_sysfs_bdf_to_devid");
  std::string address;
  std::string arrow;
  for (int number = 0; table >> address >> arrow >> number;) {
    if (function.ends_with(lower_case(address))) {
      return number;
    }
  }
  return std::nullopt;
}

std::map<int, std::string> npu_addresses(const std::string& root) {
  std::map<int, std::string> addresses;
  for (const std::string& function : pci_functions(root, "0x19e5", "0x1200")) {
    if (const auto number = npu_number(root, function)) {
      addresses.emplace(*number, function);
    }
  }
  return addresses;
}

/// Class 0x1200: processing accelerator. The runtime counts those that have a device file.
std::vector<Accelerator> find_ascend(const std::string& root) {
  const std::vector<int> files = numbered_entries(root + "/dev", "davinci");
  if (files.empty()) {
    return {};
  }
  const auto addresses = npu_addresses(root);
  std::vector<Accelerator> npus;
  for (const int number : files) {
    Accelerator npu;
    if (const auto at = addresses.find(number); at != addresses.end()) {
      npu.address = at->second;
      npu.numa_node = numa_node_of(root, npu.address);
    }
    npus.push_back(std::move(npu));
  }
  return npus;
}

// --- AMD -----------------------------------------------------------------------------------------

/// Source: Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c: location_id is bus, device and function.
std::string pci_address(unsigned long long domain, unsigned long long location) {
  std::array<char, 64> text{};
  std::snprintf(text.data(),
                text.size(),
                "%04llx:%02llx:%02llx.%llx",
                domain,
                (location >> 8U) & 0xFFU,
                (location >> 3U) & 0x1FU,
                location & 0x7U);
  return text.data();
}

std::string amd_uuid(unsigned long long unique_id) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "GPU-%016llx", unique_id);
  return unique_id == 0 ? std::string() : std::string(text.data());
}

/// The runtime counts the KFD's nodes that have SIMD units, in their order.
std::vector<Accelerator> find_amd(const std::string& root) {
  const std::string folder = root + "/sys/class/kfd/kfd/topology/nodes";
  std::vector<Accelerator> gpus;
  for (const int node : numbered_entries(folder, "")) {
    auto properties = read_properties(folder + "/" + std::to_string(node) + "/properties");
    if (properties["simd_count"] == 0) {
      continue;
    }
    const std::string address = pci_address(properties["domain"], properties["location_id"]);
    gpus.push_back({address, amd_uuid(properties["unique_id"]), {}, numa_node_of(root, address)});
  }
  return gpus;
}

}  // namespace

void place_accelerators(Topology& topology, const std::string& root) {
  topology.nvidia = find_nvidia(root);
  topology.ascend = find_ascend(root);
  topology.amd = find_amd(root);
}

}  // namespace muster
