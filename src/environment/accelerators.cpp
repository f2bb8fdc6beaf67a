// "How many workers does this node take?", answered from variables and counted devices. Pure.
#include <muster/base/text.hpp>
#include <muster/environment/accelerators.hpp>

#include <algorithm>
#include <array>

namespace muster {
namespace {

constexpr int kMostSlots = 65'536;

/// One entry of a device list: a number, a range such as 0-3 (Ascend's container runtime), or the
/// name of a device (GPU-<uuid>, MIG-<uuid>). 0 for anything else.
int count_entry(std::string_view entry) {
  if (parse_integer(entry, 0, 1'000'000)) {
    return 1;
  }
  if (entry.starts_with("GPU-") || entry.starts_with("MIG-")) {
    return 1;
  }
  const std::size_t dash = entry.find('-');
  if (dash == std::string_view::npos) {
    return 0;
  }
  const auto first = parse_integer(entry.substr(0, dash), 0, 1'000'000);
  const auto last = parse_integer(entry.substr(dash + 1), 0, 1'000'000);
  return first && last && *first <= *last ? *last - *first + 1 : 0;
}

/// Devices that a visibility list leaves. As the runtimes do, the list ends at its first entry
/// that is no device: "0,1,-1,2" leaves two. Counting stops above `kMostSlots`.
int count_visible(const std::string& list) {
  int count = 0;
  for (const std::string& entry : split(list, ',')) {
    const int devices = count_entry(trim(entry));
    if (devices == 0 || count > kMostSlots) {
      break;
    }
    count += devices;
  }
  return count;
}

template <std::size_t N>
Sourced<int> count_of_kind(const Snapshot& snapshot,
                           const std::array<const char*, N>& variables,
                           const Sourced<int>& counted) {
  for (const char* const name : variables) {
    if (const auto list = snapshot.variable(name)) {
      return {count_visible(*list), from_variable(name)};
    }
  }
  return counted;
}

Sourced<int> count_nvidia(const Snapshot& snapshot) {
  return count_of_kind(snapshot,
                       std::array{"CUDA_VISIBLE_DEVICES"},
                       {snapshot.devices.nvidia, {SourceKind::File, "/dev/nvidia[0-9]*"}});
}

Sourced<int> count_ascend(const Snapshot& snapshot) {
  return count_of_kind(snapshot,
                       std::array{"ASCEND_RT_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES"},
                       {snapshot.devices.ascend, {SourceKind::File, "/dev/davinci[0-9]*"}});
}

Sourced<int> count_amd(const Snapshot& snapshot) {
  // HIP counts after ROCr has filtered, so its list is the one that decides.
  return count_of_kind(snapshot,
                       std::array{"HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"},
                       {snapshot.devices.amd, {SourceKind::File, "/sys/class/kfd/kfd/topology"}});
}

Error no_device(const Sourced<std::string>& wanted, const Sourced<int>& found, const char* kind) {
  return Error{blame(wanted.source),
               wanted.source.name + " is '" + wanted.value + "', but there is no " + kind +
                   " on this node (by " + found.source.name +
                   "); give a number to start workers without one"};
}

Sourced<int> count_auto(const Sourced<std::string>& wanted, const Snapshot& snapshot) {
  for (const Sourced<int>& found :
       {count_nvidia(snapshot), count_ascend(snapshot), count_amd(snapshot)}) {
    if (found.value > 0) {
      return found;
    }
  }
  return {1, wanted.source};
}

Result<Sourced<int>> count_gpus(const Sourced<std::string>& wanted, const Snapshot& snapshot) {
  const Sourced<int> nvidia = count_nvidia(snapshot);
  const Sourced<int> amd = count_amd(snapshot);
  if (nvidia.value == 0 && amd.value == 0) {
    return no_device(wanted, nvidia, "GPU");
  }
  return nvidia.value > 0 ? nvidia : amd;
}

Result<Sourced<int>> count_npus(const Sourced<std::string>& wanted, const Snapshot& snapshot) {
  const Sourced<int> ascend = count_ascend(snapshot);
  return ascend.value > 0 ? Result<Sourced<int>>(ascend) : no_device(wanted, ascend, "NPU");
}

Result<Sourced<int>> count_wanted(const Sourced<std::string>& wanted, const Snapshot& snapshot) {
  if (wanted.value == "auto") {
    return count_auto(wanted, snapshot);
  }
  if (wanted.value == "gpu") {
    return count_gpus(wanted, snapshot);
  }
  if (wanted.value == "npu") {
    return count_npus(wanted, snapshot);
  }
  if (wanted.value == "cpu") {
    return Sourced<int>{snapshot.cores.count, {SourceKind::File, snapshot.cores.source}};
  }
  const auto number = parse_integer(wanted.value, 1, kMostSlots);
  if (!number) {
    return wrong_value(wanted, "a number from 1 to 65536, or auto, gpu, npu or cpu");
  }
  return Sourced<int>{*number, wanted.source};
}

}  // namespace

Result<Sourced<int>> count_slots(const Sourced<std::string>& wanted, const Snapshot& snapshot) {
  auto slots = count_wanted(wanted, snapshot);
  if (slots && slots->value > kMostSlots) {
    return wrong_value({snapshot.variable(slots->source.name).value_or(""), slots->source},
                       "at most 65536 devices");
  }
  return slots;
}

DeviceMask find_device_mask(const Snapshot& snapshot) {
  struct Vendor {
    const char* variable;
    int devices;
  };
  const std::array<Vendor, 3> vendors = {
      {{"CUDA_VISIBLE_DEVICES", count_nvidia(snapshot).value},
       {"ASCEND_RT_VISIBLE_DEVICES", count_ascend(snapshot).value},
       {"HIP_VISIBLE_DEVICES", count_amd(snapshot).value}}};
  const auto at = std::find_if(
      vendors.begin(), vendors.end(), [](const Vendor& vendor) { return vendor.devices > 0; });
  DeviceMask mask;
  mask.variable = at == vendors.end() ? vendors.front().variable : at->variable;
  const auto list = snapshot.variable(mask.variable);
  mask.is_inherited = list.has_value();
  for (const std::string& entry : split(list.value_or(""), ',')) {
    if (count_entry(trim(entry)) != 1) {
      break;  // the runtimes stop there
    }
    mask.devices.emplace_back(trim(entry));
  }
  return mask;
}

}  // namespace muster
