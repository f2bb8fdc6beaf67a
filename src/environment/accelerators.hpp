#pragma once

// Counts, numbers and masks the accelerators of this host, and places them near CPUs.

#include "base/result.hpp"
#include "environment/cpu_topology.hpp"
#include "environment/snapshot.hpp"
#include "options/settings.hpp"

#include <string>
#include <vector>

namespace muster {

/// Resolves `--nproc-per-node` to the number of workers on this node. `wanted` is a number of at least 1 or one of:
///     auto  accelerators if there are any (NVIDIA, then Ascend, AMD, Gaudi, Neuron, Intel, TPU), else 1
///     gpu   NVIDIA or AMD; none is an error
///     npu   Ascend; none is an error
///     xpu   Intel; none is an error
///     cpu   the cores that this process may use
/// A variable such as CUDA_VISIBLE_DEVICES that is set decides, also when it hides every device.
[[nodiscard]] Result<Sourced<int>> count_slots(const Sourced<std::string>& wanted, const Snapshot& snapshot);

/// Number of accelerators that a process of this node may use, of the kind that "auto" chooses; 0: none.
int count_visible_devices(const Snapshot& snapshot);

/// Kind of those accelerators: nvidia, ascend, amd, gaudi, neuron, intel or tpu; empty: none.
std::string accelerator_kind(const Snapshot& snapshot);

/// True if this node has Ascend devices: by its visibility list if there is one, otherwise by the device files.
bool has_ascend_devices(const Snapshot& snapshot);

/// Host numbers of the Ascend devices that the container was given (ASCEND_VISIBLE_DEVICES). Where /dev has more
/// files than the container's list, no runtime has applied that list, and the numbers are those of the files.
std::vector<int> ascend_devices_of_container(const Snapshot& snapshot);

/// Host numbers of the Ascend devices that the visibility lists leave to this process; empty: there is no list.
std::vector<int> visible_ascend_devices(const Snapshot& snapshot);

/// Translates host numbers of Ascend devices to the numbers that this process's runtime uses: positions among the
/// devices it sees. The numbers stay where the visible devices are unknown. Where as many devices are visible as the list
/// has, but with other numbers, the list's positions count: a container that renumbers its devices has just these.
std::vector<int> ascend_runtime_numbers(const Snapshot& snapshot, const std::vector<int>& devices);

/// Returns the node's Ascend devices by their files, if some of `devices` (host numbers) have no file and cannot be
/// identified by their order either; empty: all are there, or there are no files.
std::vector<int> files_without_ascend_devices(const Snapshot& snapshot, const std::vector<int>& devices);

/// The variable that restricts one worker to one device.
struct DeviceMask {
  std::string variable;              ///< such as CUDA_VISIBLE_DEVICES
  bool is_inherited = false;         ///< the environment restricts the devices already, to `devices`
  std::vector<std::string> devices;  ///< names or numbers, in their order
  std::vector<std::string> unset;    ///< variables with the same purpose

  /// The value of the variable for the i-th worker; empty when the list is too short.
  std::string device(std::size_t i) const {
    return is_inherited ? (i < devices.size() ? devices[i] : std::string()) : std::to_string(i);
  }
};

/// Mask for the kind of accelerators that this host has, in the order of `count_slots`. Without any it is NVIDIA's,
/// as in torchrun.
DeviceMask find_device_mask(const Snapshot& snapshot);

/// The devices of the first `workers` workers, one each, as the mask spells them. Empty if this host has no files of
/// such devices: a list without files may be made up.
std::vector<std::string> devices_of_workers(const Snapshot& snapshot, int workers);

/// A subset of this node's visible devices, as the value of the variable that their runtime reads.
struct DeviceChoice {
  std::string variable;            ///< such as CUDA_VISIBLE_DEVICES
  std::string list;                ///< names or numbers, with commas
  std::vector<std::string> unset;  ///< variables with the same purpose
  int count = 0;
  Source source;  ///< of the choice
};

/// Applies `--devices 0,2,4-7`. The numbers are positions among the visible devices, from 0. Fails for a missing
/// device, a duplicate, and an order that the runtime does not accept.
[[nodiscard]] Result<DeviceChoice> choose_devices(const Sourced<std::string>& wanted, const Snapshot& snapshot);

/// Fails for visibility lists that the runtimes would silently misread: an Ascend list that is not ascending; a GPU
/// list with ranges, duplicates or non-devices; a HIP list that does not count within ROCr's list, or differs from
/// CUDA's.
[[nodiscard]] Result<> check_device_lists(const Snapshot& snapshot);

/// Adds the accelerators of this host to the topology, from the files below `root`.
void place_accelerators(Topology& topology, const std::string& root);

}  // namespace muster
