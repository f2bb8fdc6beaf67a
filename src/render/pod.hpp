#pragma once

// What one pod, or one node of Slurm, asks for.

#include "base/result.hpp"

#include <map>
#include <string>
#include <vector>

namespace muster::render {

/// A pod may stand on a node that carries this taint.
struct Toleration {
  std::string key;
  std::string value;   ///< empty: any
  std::string effect;  ///< NoSchedule or NoExecute; empty: both

  bool operator==(const Toleration&) const = default;
};

/// Of each pod of the gang: all are alike.
struct PodNeeds {
  int devices = 0;
  std::string device_resource;  ///< such as nvidia.com/gpu, or Slurm's gpu
  std::string cpus;             ///< a quantity as Kubernetes writes it; empty: not said
  std::string memory;           ///< the same
  std::map<std::string, std::string> node_selector{};
  std::vector<Toleration> tolerations{};
};

// Strict readers of what a manifest names. Each fails by naming the source, the value and what was expected.

/// A name that Kubernetes takes for a Job and a Service (RFC 1035), with at most `most` characters.
[[nodiscard]] Result<std::string> read_name(const Sourced<std::string>& text, std::size_t most = 63);

/// A name of something that is there already, such as a Secret (RFC 1123): dots too.
[[nodiscard]] Result<std::string> read_object_name(const Sourced<std::string>& text);

/// A name of a queue or a partition: what is no blank, quote or other sign that could mean something.
[[nodiscard]] Result<std::string> read_queue(const Sourced<std::string>& text);

/// An image, as a runtime would be asked for it.
[[nodiscard]] Result<std::string> read_image(const Sourced<std::string>& text);
/// The same as Slurm's plugin Pyxis takes it: "registry.example#team/train:1.0", or the path of a file.
/// Source: Pyxis, --container-image.
[[nodiscard]] Result<std::string> read_slurm_image(const Sourced<std::string>& text);

/// "nvidia.com/gpu".
[[nodiscard]] Result<std::string> read_resource(const Sourced<std::string>& text);

/// Slurm's "gpu" or "gpu:a100".
[[nodiscard]] Result<std::string> read_gres(const Sourced<std::string>& text);

/// A quantity that is more than nothing.
[[nodiscard]] Result<std::string> read_quantity(const Sourced<std::string>& text);

/// "pool=train,disk=ssd".
[[nodiscard]] Result<std::map<std::string, std::string>> read_selector(const Sourced<std::string>& text);

/// "dedicated=train:NoSchedule,spot": the taints that the pods stand.
[[nodiscard]] Result<std::vector<Toleration>> read_tolerations(const Sourced<std::string>& text);

}  // namespace muster::render
