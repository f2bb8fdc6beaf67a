// From visibility lists and accelerators to the NUMA nodes of each process. Pure.
#include "plan/localities.hpp"

#include "environment/devices.hpp"

#include <algorithm>
#include <set>

namespace muster {
namespace {

/// An entry of a visibility list, as far as it can be resolved.
struct Visible {
  int number = 0;                       ///< on this host
  const Accelerator* device = nullptr;  ///< nullptr: nobody knows which one it is
  std::string name;                     ///< as the list has it
};

std::vector<Visible> all_of(const std::vector<Accelerator>& devices) {
  std::vector<Visible> escape_controls;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    escape_controls.push_back({static_cast<int>(i), &devices[i], std::to_string(i)});
  }
  return escape_controls;
}

/// "GPU-<uuid>", shortened as far as it stays unique, and "MIG-GPU-<uuid>/1/0". A "MIG-<uuid>" names
/// a part of a GPU that only the driver knows.
Visible find_by_uuid(const std::vector<Visible>& devices, std::string_view entry) {
  std::string_view uuid = entry.substr(0, entry.find('/'));
  if (uuid.starts_with("MIG-GPU-")) {
    uuid.remove_prefix(4);
  }
  for (const Visible& device : devices) {
    if (device.device != nullptr && device.device->uuid.starts_with(uuid)) {
      return device;
    }
  }
  return Visible{-1, nullptr, std::string(entry)};
}

/// What a list leaves of the devices, in its order. As the runtimes do, it ends at the first number
/// that no device has.
std::vector<Visible> filter(const std::vector<Visible>& devices, const std::string& list) {
  std::vector<Visible> escape_controls;
  for (const DeviceEntry& entry : read_device_list(list)) {
    if (!entry.number) {
      escape_controls.push_back(find_by_uuid(devices, entry.text));
    } else if (*entry.number < static_cast<int>(devices.size())) {
      escape_controls.push_back(devices[static_cast<std::size_t>(*entry.number)]);
    } else {
      break;
    }
  }
  return escape_controls;
}

/// Each variable that is set filters what the one before left.
std::vector<Visible> filter_by(std::vector<Visible> devices,
                               const Snapshot& snapshot,
                               const std::vector<const char*>& variables) {
  for (const char* const variable : variables) {
    if (const auto list = snapshot.variable(variable)) {
      devices = filter(devices, *list);
    }
  }
  return devices;
}

/// The accelerators of the kind that decides the number of workers: NVIDIA, Ascend, AMD.
struct Found {
  std::string kind;
  const std::vector<Accelerator>* all = nullptr;
  std::vector<Visible> escape_controls;
};

Found find_visible(const Topology& topology, const Snapshot& snapshot) {
  // HIP takes CUDA's variable where its own is not set.
  const char* const hip =
      snapshot.has("HIP_VISIBLE_DEVICES") ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES";
  Found nvidia{"GPU",
               &topology.nvidia,
               filter_by(all_of(topology.nvidia), snapshot, {"CUDA_VISIBLE_DEVICES"})};
  Found ascend{"NPU",
               &topology.ascend,
               filter_by(all_of(topology.ascend), snapshot, {"ASCEND_RT_VISIBLE_DEVICES"})};
  Found amd{"GPU",
            &topology.amd,
            filter_by(all_of(topology.amd), snapshot, {"ROCR_VISIBLE_DEVICES", hip})};
  if (!nvidia.escape_controls.empty()) {
    return nvidia;
  }
  return !ascend.escape_controls.empty() ? ascend : amd;
}

/// The one node that all devices are on, if that is so: then it does not matter which is which.
std::optional<int> common_node(const std::vector<Accelerator>& devices) {
  std::set<int> nodes;
  for (const Accelerator& device : devices) {
    if (!device.numa_node) {
      return std::nullopt;
    }
    nodes.insert(std::max(0, *device.numa_node));
  }
  return nodes.size() == 1 ? std::optional(*nodes.begin()) : std::nullopt;
}

std::set<int> numa_nodes(const Topology& topology) {
  std::set<int> nodes;
  for (const auto& [cpu, place] : topology.cpus) {
    nodes.insert(place.numa_node);
  }
  return nodes;
}

Locality locality_at(const Visible& escape_controls,
                     const Found& found,
                     const std::set<int>& host_nodes) {
  Locality locality;
  locality.device = escape_controls.number;
  locality.name = found.kind + " " + escape_controls.name;
  if (escape_controls.device != nullptr && !escape_controls.device->address.empty()) {
    locality.name += " (" + escape_controls.device->address + ")";
  }
  std::optional<int> node = common_node(*found.all);
  if (escape_controls.device != nullptr && escape_controls.device->numa_node) {
    locality.is_assumed = *escape_controls.device->numa_node < 0 && host_nodes.size() > 1;
    node = std::max(0, *escape_controls.device->numa_node);
  }
  if (!node && host_nodes.size() == 1) {
    node = *host_nodes.begin();
  }
  if (node) {
    locality.nodes = {*node};
  } else {
    locality.unknown = "nothing on this host tells the NUMA node of " + locality.name;
  }
  return locality;
}

/// Blocks of nodes for few workers, blocks of workers for few nodes.
std::vector<Locality> spread(const Topology& topology, const Snapshot& snapshot, int workers) {
  std::set<int> allowed;
  for (const int cpu : topology.allowed_cpus) {
    allowed.insert(topology.cpus.at(cpu).numa_node);
  }
  const std::vector<int> nodes(allowed.begin(), allowed.end());
  const auto count = static_cast<long long>(nodes.size());
  const auto numbers =
      read_device_list(snapshot.variable("ASCEND_RT_VISIBLE_DEVICES").value_or(""));
  std::vector<Locality> localities;
  for (int i = 0; i < workers; ++i) {
    const auto first = static_cast<std::ptrdiff_t>(i * count / workers);
    const auto last = std::max(first + 1, static_cast<std::ptrdiff_t>((i + 1) * count / workers));
    Locality locality;
    const auto place = static_cast<std::size_t>(i);
    locality.device = place < numbers.size() ? numbers[place].number.value_or(i) : i;
    locality.nodes.assign(nodes.begin() + first, nodes.begin() + last);
    locality.name = "local rank " + std::to_string(i) + " (no accelerators)";
    localities.push_back(std::move(locality));
  }
  return localities;
}

}  // namespace

std::vector<Locality> find_localities(const Topology& topology,
                                      const Snapshot& snapshot,
                                      int workers) {
  const Found found = find_visible(topology, snapshot);
  if (found.escape_controls.empty()) {
    return spread(topology, snapshot, workers);
  }
  const std::set<int> host_nodes = numa_nodes(topology);
  const std::size_t count =
      std::max(found.escape_controls.size(), static_cast<std::size_t>(std::max(0, workers)));
  std::vector<Locality> localities;
  for (std::size_t i = 0; i < count; ++i) {
    localities.push_back(
        locality_at(found.escape_controls[i % found.escape_controls.size()], found, host_nodes));
  }
  return localities;
}

std::string doubt_about_order(const Topology& topology, const Snapshot& snapshot) {
  std::set<std::string> models;
  for (const Accelerator& gpu : topology.nvidia) {
    models.insert(gpu.model);
  }
  if (models.size() < 2 || common_node(topology.nvidia) ||
      snapshot.variable("CUDA_DEVICE_ORDER") == "PCI_BUS_ID") {
    return {};
  }
  return "the GPUs of this host differ, and CUDA numbers the fastest first: for a binding that "
         "fits, "
         "set CUDA_DEVICE_ORDER=PCI_BUS_ID";
}

}  // namespace muster
