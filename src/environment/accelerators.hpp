#pragma once

// Which accelerator has which number, and where it is plugged in.

#include "base/result.hpp"
#include "environment/cpu_topology.hpp"
#include "environment/snapshot.hpp"
#include "options/settings.hpp"

#include <string>
#include <vector>

namespace muster {

/// How many workers `--nproc-per-node` means on this node. `wanted` is a number of at least 1 or
/// one of:
///   auto  accelerators if there are any (NVIDIA, then Ascend, AMD, Gaudi, Neuron, Intel, TPU), else 1
///   gpu   NVIDIA or AMD; none is an error
///   npu   Ascend; none is an error
///   xpu   Intel; none is an error
///   cpu   the cores that this process may use
/// A variable such as CUDA_VISIBLE_DEVICES that is set decides, also when it hides every device.
[[nodiscard]] Result<Sourced<int>> count_slots(const Sourced<std::string>& wanted, const Snapshot& snapshot);

/// Accelerators that a process of this node may use: those that "auto" means; 0 where there are none.
[[nodiscard]] int count_visible_devices(const Snapshot& snapshot);

/// Whose they are: nvidia, ascend, amd, gaudi, neuron, intel or tpu; empty where there are none.
[[nodiscard]] std::string accelerator_kind(const Snapshot& snapshot);

/// True where this node has Ascend devices: by the list that hides them, else by their files.
[[nodiscard]] bool has_ascend_devices(const Snapshot& snapshot);

/// The numbers on the host of the Ascend devices that the runtime counts before its own list: those that the
/// container was given. Where there are more files than that, nobody has carried it out, and they are the files'.
[[nodiscard]] std::vector<int> shown_ascend_devices(const Snapshot& snapshot);

/// The numbers on the host of the Ascend devices that lists leave to this process; empty: none says so.
[[nodiscard]] std::vector<int> visible_ascend_devices(const Snapshot& snapshot);

/// How the runtime of this process calls these Ascend devices, given by their numbers on the host: by their
/// places among what it sees. Where nothing is known to be seen, by the same numbers; where as many others
/// are, by their order, as in a container that has just these.
[[nodiscard]] std::vector<int> ascend_runtime_numbers(const Snapshot& snapshot, const std::vector<int>& devices);

/// The Ascend devices whose files this node has, where some of these (by their numbers on the host) have none and
/// cannot be meant by their order either; empty: all are there, or no file says anything.
[[nodiscard]] std::vector<int> files_without_ascend_devices(const Snapshot& snapshot, const std::vector<int>& devices);

/// How one worker is shown one device alone.
struct DeviceMask {
  std::string variable;              ///< such as CUDA_VISIBLE_DEVICES
  bool is_inherited = false;         ///< somebody has chosen devices already: those in `devices`
  std::vector<std::string> devices;  ///< names or numbers, in their order
  std::vector<std::string> unset;    ///< variables that say the same in another way

  /// The value of the variable for the i-th worker; empty when the list is too short.
  [[nodiscard]] std::string device(std::size_t i) const {
    return is_inherited ? (i < devices.size() ? devices[i] : std::string()) : std::to_string(i);
  }
};

/// The mask of the accelerators that this host has, in the order of `count_slots`. Without any it is NVIDIA's, as torchrun has
/// it.
[[nodiscard]] DeviceMask find_device_mask(const Snapshot& snapshot);

/// Some of the devices that this node shows, as a value of the variable that its runtime reads.
struct DeviceChoice {
  std::string variable;            ///< such as CUDA_VISIBLE_DEVICES
  std::string list;                ///< names or numbers, with commas
  std::vector<std::string> unset;  ///< variables that say the same in another way
  int count = 0;
  Source source;  ///< who chose them
};

/// What `--devices 0,2,4-7` leaves. The numbers count what is visible now, from 0. Fails for a device that is
/// not there, one that is named twice, and an order that the runtime does not take.
[[nodiscard]] Result<DeviceChoice> choose_devices(const Sourced<std::string>& wanted, const Snapshot& snapshot);

/// Fails for lists that the devices' runtimes would silently take for others: one for Ascend that is not
/// ascending, one for GPUs with ranges, a device twice or what is none, and one for HIP that does not count
/// what the one for ROCr leaves or is another than CUDA's.
[[nodiscard]] Result<> check_device_lists(const Snapshot& snapshot);

/// Fills the lists of accelerators from the files below `root`.
void place_accelerators(Topology& topology, const std::string& root);

}  // namespace muster
