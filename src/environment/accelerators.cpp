// Counts a node's workers from variables and counted devices, builds device masks and finds each accelerator's NUMA
// node.
#include "environment/accelerators.hpp"

#include "base/format_text.hpp"
#include "base/text.hpp"
#include "environment/devices.hpp"
#include "environment/mounted_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <utility>

namespace muster {
namespace {

/// The accelerators of one vendor.
struct Vendor {
  std::array<const char*, 2> variables;  ///< that hide devices: the first one that is set decides
  int HostDevices::*counted;
  const char* files;  ///< the counted files
  const char* kind;   ///< result of `accelerator_kind`
};

constexpr Vendor kNvidia{{"CUDA_VISIBLE_DEVICES"}, &HostDevices::nvidia, "/dev/nvidia[0-9]*", "nvidia"};
constexpr Vendor kAscend{
    {"ASCEND_RT_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES"}, &HostDevices::ascend, "/dev/davinci[0-9]*", "ascend"};
/// HIP counts after ROCr has filtered, so HIP's list decides.
constexpr Vendor kAmd{
    {"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}, &HostDevices::amd, "/sys/class/kfd/kfd/topology", "amd"};
constexpr Vendor kGaudi{{"HABANA_VISIBLE_MODULES"}, &HostDevices::gaudi, "/dev/accel/accel[0-9]*", "gaudi"};
constexpr Vendor kNeuron{{"NEURON_RT_VISIBLE_CORES"}, &HostDevices::neuron_cores, "/dev/neuron[0-9]*", "neuron"};
constexpr Vendor kIntelTiles{{"ZE_AFFINITY_MASK"}, &HostDevices::intel_tiles, "/dev/dri/renderD[0-9]*", "intel"};
constexpr Vendor kIntelGpus{{"ZE_AFFINITY_MASK"}, &HostDevices::intel, "/dev/dri/renderD[0-9]*", "intel"};
constexpr Vendor kTpu{{"TPU_VISIBLE_CHIPS", "TPU_VISIBLE_DEVICES"}, &HostDevices::tpu, "TPU chips on PCI", "tpu"};

/// Intel as a vendor: it counts tiles, unless ZE_FLAT_DEVICE_HIERARCHY says that a GPU is one device.
const Vendor& intel(const Snapshot& snapshot) {
  const std::string hierarchy = snapshot.variable("ZE_FLAT_DEVICE_HIERARCHY").value_or("FLAT");
  return hierarchy == "COMPOSITE" ? kIntelGpus : kIntelTiles;
}

/// The vendors in the order in which devices are searched. The lists of the last four are not checked against the
/// files: Kubernetes plugins write host numbers of cores and modules there.
std::array<const Vendor*, 7> vendors(const Snapshot& snapshot) {
  return {&kNvidia, &kAscend, &kAmd, &kGaudi, &kNeuron, &intel(snapshot), &kTpu};
}

/// The list of a vendor's variable; empty also for "all", a word of Habana's container runtime that hides none.
std::optional<Sourced<std::string>> list_of(const Vendor& vendor, const Snapshot& snapshot) {
  for (const char* const name : vendor.variables) {
    auto list = name == nullptr ? std::nullopt : sourced_variable(snapshot, name);
    if (list && list->value != "all") {
      return list;
    }
  }
  return std::nullopt;
}

/// The number of physical Neuron cores that the runtime combines into one. A Trainium 2 device has eight, and two are
/// one by default. Source: AWS Neuron, "Logical NeuronCore configuration".
int cores_in_one(const Snapshot& snapshot) {
  constexpr int kMost = 8;
  const int usual = snapshot.devices.cores_of_neuron >= kMost ? 2 : 1;
  const std::string given = snapshot.variable("NEURON_LOGICAL_NC_CONFIG").value_or("");
  return parse_integer(given, 1, kMost).value_or(usual);
}

/// Fails for a number that no device has, because the runtime would then see fewer devices. The numbers count from 0;
/// those of Ascend are the host's in some containers, and those of ASCEND_VISIBLE_DEVICES, which selects a
/// container's devices, always.
Result<> check_list(const Vendor& vendor, const Snapshot& snapshot) {
  const auto list = list_of(vendor, snapshot);
  const int here = snapshot.devices.*vendor.counted;
  if (!list || here == 0 ||
      list->source.name == "ASCEND_VISIBLE_DEVICES") {  // without files, numbers cannot be checked
    return {};
  }
  const std::vector<int>& ids = snapshot.devices.ascend_ids;
  const bool has_ids = vendor.counted == &HostDevices::ascend;
  for (const DeviceEntry& entry : read_device_list(list->value)) {
    const bool is_there = !entry.number || *entry.number < here || (has_ids && contains(ids, *entry.number));
    if (!is_there) {
      return wrong_value(*list, "devices of this node, which has " + std::to_string(here) + " (" + vendor.files +
                                    "), and none is " + entry.text);
    }
  }
  return {};
}

Result<> check_lists(const Snapshot& snapshot) {
  for (const Vendor* const vendor : {&kNvidia, &kAscend, &kAmd}) {
    TRY(check_list(*vendor, snapshot));
  }
  return {};
}

Sourced<int> count_of(const Vendor& vendor, const Snapshot& snapshot) {
  if (const auto list = list_of(vendor, snapshot)) {
    return {static_cast<int>(read_device_list(list->value).size()), list->source};
  }
  const int divisor = vendor.counted == &HostDevices::neuron_cores ? cores_in_one(snapshot) : 1;
  return {snapshot.devices.*vendor.counted / divisor, {SourceKind::File, vendor.files}};
}

/// The first vendor of which this host has devices.
const Vendor* find_vendor(const Snapshot& snapshot) {
  const auto all = vendors(snapshot);
  const auto* const found =
      std::ranges::find_if(all, [&](const Vendor* vendor) { return count_of(*vendor, snapshot).value > 0; });
  return found == all.end() ? nullptr : *found;
}

Error no_device(const Sourced<std::string>& wanted, const Sourced<int>& found, const char* kind) {
  return Error{error_kind(wanted.source), wanted.source.name + " is '" + wanted.value + "', but there is no " + kind +
                                              " on this node (by " + found.source.name +
                                              "); give a number to start workers without one"};
}

Sourced<int> count_auto(const Sourced<std::string>& wanted, const Snapshot& snapshot) {
  const Vendor* const vendor = find_vendor(snapshot);
  return vendor == nullptr ? Sourced<int>{1, wanted.source} : count_of(*vendor, snapshot);
}

Result<Sourced<int>> count_only(const Vendor& vendor, const char* kind, const Sourced<std::string>& wanted,
                                const Snapshot& snapshot) {
  const Sourced<int> found = count_of(vendor, snapshot);
  return found.value > 0 ? Result<Sourced<int>>(found) : no_device(wanted, found, kind);
}

Result<Sourced<int>> count_wanted(const Sourced<std::string>& wanted, const Snapshot& snapshot) {
  if (wanted.value == "auto") {
    return count_auto(wanted, snapshot);
  }
  if (wanted.value == "gpu") {
    const Sourced<int> of_nvidia = count_of(kNvidia, snapshot);
    const Sourced<int> of_amd = count_of(kAmd, snapshot);
    if (of_nvidia.value == 0 && of_amd.value == 0) {
      return no_device(wanted, of_nvidia, "GPU");
    }
    return of_nvidia.value > 0 ? of_nvidia : of_amd;
  }
  if (wanted.value == "npu") {
    return count_only(kAscend, "NPU", wanted, snapshot);
  }
  if (wanted.value == "xpu") {
    return count_only(intel(snapshot), "XPU", wanted, snapshot);
  }
  if (wanted.value == "cpu") {
    return Sourced<int>{snapshot.cores.count, {SourceKind::File, snapshot.cores.source}};
  }
  const auto number = parse_integer(wanted.value, 1, kMostDevices);
  if (!number) {
    return wrong_value(wanted, "a number from 1 to 65536, or auto, gpu, npu, xpu or cpu");
  }
  return Sourced<int>{*number, wanted.source};
}

DeviceMask mask_by(const Snapshot& snapshot, const char* variable) {
  DeviceMask mask;
  mask.variable = variable;
  const auto list = snapshot.variable(variable);
  mask.is_inherited = list.has_value();
  for (DeviceEntry& entry : read_device_list(list.value_or(""))) {
    mask.devices.push_back(std::move(entry.text));
  }
  return mask;
}

/// Sets only one of the two variables: where ROCr filters already, its variable is used, and the rest of HIP's list
/// is translated to ROCr's numbers. Source: ROCm, "GPU isolation techniques".
DeviceMask mask_of_amd(const Snapshot& snapshot) {
  const DeviceMask hip = mask_by(snapshot, "HIP_VISIBLE_DEVICES");
  DeviceMask rocr = mask_by(snapshot, "ROCR_VISIBLE_DEVICES");
  if (!rocr.is_inherited || !hip.is_inherited) {
    return rocr.is_inherited ? rocr : hip;
  }
  const std::vector<std::string> left = std::exchange(rocr.devices, {});
  for (const std::string& number : hip.devices) {
    const auto place = parse_integer(number, 0, kMostDevices);
    if (place && static_cast<std::size_t>(*place) < left.size()) {
      rocr.devices.push_back(left[static_cast<std::size_t>(*place)]);
    }
  }
  rocr.unset = {"HIP_VISIBLE_DEVICES"};
  return rocr;
}

/// True for the order that Ascend's runtime requires. Source: CANN, "ASCEND_RT_VISIBLE_DEVICES".
bool is_ascending(const std::string& list) {
  int last = -1;
  for (const std::string& entry : split(list, ',')) {
    const auto number = parse_integer(entry, 0, kMostDevices);
    if (!number || *number <= last) {
      return false;
    }
    last = *number;
  }
  return true;
}

/// True when each number of the list is below `count`.
bool is_within(const std::string& list, std::size_t count) {
  const std::vector<DeviceEntry> entries = read_device_list(list);
  return std::ranges::all_of(entries, [&](const DeviceEntry& entry) {
    return !entry.number || static_cast<std::size_t>(*entry.number) < count;
  });
}

/// Checks the lists of HIP: the devices that it counts, and the list that decides.
Result<> check_lists_of_hip(const Snapshot& snapshot) {
  const auto hip = sourced_variable(snapshot, "HIP_VISIBLE_DEVICES");
  const auto rocr = sourced_variable(snapshot, "ROCR_VISIBLE_DEVICES");
  if (hip && rocr && !is_within(hip->value, read_device_list(rocr->value).size())) {
    return Error{ErrorKind::BadEnvironment, "HIP_VISIBLE_DEVICES is '" + hip->value +
                                                "' but ROCR_VISIBLE_DEVICES is '" + rocr->value +
                                                "': HIP numbers what ROCr has left, from 0; leave one of them out"};
  }
  const auto cuda = sourced_variable(snapshot, "CUDA_VISIBLE_DEVICES");
  if (hip && cuda && hip->value != cuda->value && snapshot.devices.nvidia == 0) {
    return Error{ErrorKind::BadEnvironment, "HIP_VISIBLE_DEVICES is '" + hip->value +
                                                "' but CUDA_VISIBLE_DEVICES is '" + cuda->value +
                                                "': HIP reads only HIP_VISIBLE_DEVICES; leave one of them out"};
  }
  return {};
}

}  // namespace

Result<Sourced<int>> count_slots(const Sourced<std::string>& wanted, const Snapshot& snapshot) {
  const bool counts_devices =
      wanted.value == "auto" || wanted.value == "gpu" || wanted.value == "npu" || wanted.value == "xpu";
  TRY(counts_devices ? check_lists(snapshot) : Result<>());
  auto slots = count_wanted(wanted, snapshot);
  if (slots && slots->value > kMostDevices) {
    return wrong_value({snapshot.variable(slots->source.name).value_or(""), slots->source}, "at most 65536 devices");
  }
  return slots;
}

int count_visible_devices(const Snapshot& snapshot) {
  const Sourced<int> counted = count_auto({"auto", {}}, snapshot);
  return counted.source.kind == SourceKind::Default ? 0 : counted.value;
}

bool has_ascend_devices(const Snapshot& snapshot) {
  return count_of(kAscend, snapshot).value > 0;
}

DeviceMask find_device_mask(const Snapshot& snapshot) {
  if (count_of(kNvidia, snapshot).value > 0) {
    DeviceMask mask = mask_by(snapshot, "CUDA_VISIBLE_DEVICES");
    if (snapshot.has("HIP_VISIBLE_DEVICES")) {
      mask.unset = {"HIP_VISIBLE_DEVICES"};  // HIP would prefer it
    }
    return mask;
  }
  const Vendor* const vendor = find_vendor(snapshot);
  if (vendor == &kAmd) {
    return mask_of_amd(snapshot);
  }
  return mask_by(snapshot, vendor == nullptr ? "CUDA_VISIBLE_DEVICES" : vendor->variables.front());
}

std::vector<std::string> devices_of_workers(const Snapshot& snapshot, int workers) {
  const Vendor* const vendor = find_vendor(snapshot);
  if (vendor == nullptr || snapshot.devices.*vendor->counted == 0) {
    return {};
  }
  const DeviceMask mask = find_device_mask(snapshot);
  std::vector<std::string> devices;
  for (int i = 0; i < std::min(workers, count_visible_devices(snapshot)); ++i) {
    if (std::string device = mask.device(static_cast<std::size_t>(i)); !device.empty()) {
      devices.push_back(std::move(device));
    }
  }
  return devices;
}

std::string accelerator_kind(const Snapshot& snapshot) {
  const Vendor* const vendor = find_vendor(snapshot);
  return vendor == nullptr ? "" : vendor->kind;
}

Result<DeviceChoice> choose_devices(const Sourced<std::string>& wanted, const Snapshot& snapshot) {
  const auto numbers = read_device_numbers(wanted.value);
  if (!numbers) {
    return wrong_value(wanted, "numbers of devices such as 0,2,4-7, each once");
  }
  const auto all = count_slots({"auto", {}}, snapshot);
  const DeviceMask mask = find_device_mask(snapshot);
  const bool is_any = all && all->source.kind != SourceKind::Default;
  const int count = !is_any ? 0 : mask.is_inherited ? static_cast<int>(mask.devices.size()) : all->value;
  const auto highest = std::max_element(numbers->begin(), numbers->end());
  if (*highest >= count) {
    return wrong_value(wanted, "devices of this node, which has " + std::to_string(count) +
                                   (is_any ? " (by " + all->source.name + "), numbered from 0" : ""));
  }
  const bool is_ascends = mask.variable == kAscend.variables.front();
  if (is_ascends && !std::is_sorted(numbers->begin(), numbers->end())) {
    return wrong_value(wanted, "ascending numbers: Ascend's runtime takes no others");
  }
  DeviceChoice choice{mask.variable, {}, mask.unset, static_cast<int>(numbers->size()), wanted.source};
  for (const int number : *numbers) {
    choice.list += (choice.list.empty() ? "" : ",") + mask.device(static_cast<std::size_t>(number));
  }
  return choice;
}

Result<> check_device_lists(const Snapshot& snapshot) {
  const auto ascends = sourced_variable(snapshot, "ASCEND_RT_VISIBLE_DEVICES");
  if (ascends && !ascends->value.empty() && ascends->value != "-1" && !is_ascending(ascends->value)) {
    return wrong_value(*ascends,
                       "numbers in ascending order with commas and nothing else in between: Ascend's runtime would "
                       "stop at the first that is not");
  }
  for (const char* const name : {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}) {
    const auto list = sourced_variable(snapshot, name);
    if (list && !is_plain_device_list(list->value)) {
      return wrong_value(*list,
                         "single devices such as 0,1,2, each once: the runtime would silently take fewer, or none");
    }
  }
  return check_lists_of_hip(snapshot);
}

// Finds the PCI address of each accelerator in its driver's files, and from there the NUMA node. The order is that of
// the vendor's runtime, as far as it can be known without calling the runtime.

namespace {

std::string pci_folder(const std::string& root) {
  return root + "/sys/bus/pci/devices";
}

/// NUMA node of the device at a PCI address by the kernel, or -1 where the kernel does not know it.
int numa_node_of(const std::string& root, const std::string& address) {
  const std::string node = first_line(pci_folder(root) + "/" + address + "/numa_node");
  return parse_integer(node, 0, 1'000'000).value_or(-1);
}

/// Addresses of a vendor's PCI functions whose class has this prefix, in PCI order.
std::vector<std::string> pci_functions(const std::string& root, std::string_view vendor, std::string_view class_start) {
  std::vector<std::string> addresses;
  for (const std::string& name : entries_of(pci_folder(root))) {
    const std::string folder = pci_folder(root) + "/" + name;
    if (name.front() != '.' && first_line(folder + "/vendor") == vendor &&
        first_line(folder + "/class").starts_with(class_start)) {
      addresses.push_back(name);
    }
  }
  std::ranges::sort(addresses);
  return addresses;
}

// --- NVIDIA --------------------------------------------------------------------------------------

/// Reads the driver's own list. In a container it may have GPUs of others, whose device files are missing. Source:
/// the driver's README, "The /proc interface", file gpus/<address>/information.
std::vector<Accelerator> nvidia_by_driver(const std::string& root) {
  const std::vector<int> files = numbered_entries(root + "/dev", "nvidia");
  const std::filesystem::path folder = root + "/proc/driver/nvidia/gpus";
  std::vector<Accelerator> gpus;
  for (const std::string& name : entries_of(folder)) {
    const auto fields = read_fields((folder / name / "information").string());
    const auto field = [&](const char* key) { return value_at(fields, key); };
    const auto minor = parse_integer(field("Device Minor"), 0, 1'000'000);
    if (!minor || !std::binary_search(files.begin(), files.end(), *minor)) {
      continue;
    }
    const std::string address = lower_case(name);
    gpus.push_back({address, field("GPU UUID"), field("Model"), numa_node_of(root, address)});
  }
  std::ranges::sort(gpus,
                    [](const Accelerator& left, const Accelerator& right) { return left.address < right.address; });
  return gpus;
}

/// Without that list, uses the PCI bus, unless it has more GPUs than this container. Classes are 0x0300 (VGA) and
/// 0x0302 (3D controller).
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

/// The number of an NPU; empty when no table has it. NPUs are not numbered in PCI order: a table of the driver has
/// lines "c1:00.0 ---> 0" for all of them, with or without the domain. Source: the driver's attribute
/// devdrv_sysfs_bdf_to_devid.
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

/// Finds devices of class 0x1200 (processing accelerator). The runtime counts those that have a device file.
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

std::string amd_uuid(unsigned long long unique_id) {
  return unique_id == 0 ? std::string() : format_text("GPU-%016llx", unique_id);
}

/// Finds the nodes of the KFD that have SIMD units, in the order in which the runtime counts them.
std::vector<Accelerator> find_amd(const std::string& root) {
  const std::string folder = root + "/sys/class/kfd/kfd/topology/nodes";
  std::vector<Accelerator> gpus;
  for (const int node : numbered_entries(folder, "")) {
    auto properties = read_properties(folder + "/" + std::to_string(node) + "/properties");
    if (properties["simd_count"] == 0) {
      continue;
    }
    // Source: Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c: location_id is bus, device and function.
    const unsigned long long location = properties["location_id"];
    const std::string address = format_text("%04llx:%02llx:%02llx.%llx", properties["domain"], (location >> 8U) & 0xFFU,
                                            (location >> 3U) & 0x1FU, location & 0x7U);
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
