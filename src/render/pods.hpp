#pragma once

// What one pod, or one node of Slurm, asks for.

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

}  // namespace muster::render
