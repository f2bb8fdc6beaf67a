#pragma once

// Describes the needs of a pod or of a Slurm node, and reads the names in a manifest.

#include "base/result.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::render {

/// Lets a pod run on a node with this taint.
struct Toleration {
  std::string key;
  std::string value;   ///< empty: any
  std::string effect;  ///< NoSchedule or NoExecute; empty: both

  bool operator==(const Toleration&) const = default;
};

/// A variable, a label, or a resource with its amount.
struct NamedText {
  std::string name;
  std::string value;

  bool operator==(const NamedText&) const = default;
};

/// A folder in the container.
struct Volume {
  std::string source;  ///< a folder of the node, beginning with '/', or the name of a PersistentVolumeClaim
  std::string path;    ///< in the container
  bool is_read_only = false;

  bool operator==(const Volume&) const = default;
};

/// Needs of each pod of the gang; all pods are alike.
struct PodNeeds {
  int devices = 0;
  std::string device_resource;  ///< such as nvidia.com/gpu, or Slurm's gpu
  std::string cpus;             ///< a Kubernetes quantity; empty: not given
  std::string memory;           ///< a Kubernetes quantity; empty: not given
  std::map<std::string, std::string> node_selector{};
  std::vector<Toleration> tolerations{};
  std::vector<NamedText> resources{};  ///< further ones, such as rdma/hca, with a quantity
  int workers = 1;                     ///< workers of a pod without devices; otherwise there is one for each device
};

/// The CPUs that each pod requests: those that are given, else one for each worker.
std::string requested_cpus(const PodNeeds& needs);
/// The memory that each pod requests: what is given, else 1 GiB for each worker. Without any request a pod would be
/// "BestEffort", the first to be evicted.
std::string requested_memory(const PodNeeds& needs);

// Strict readers: each fails by naming the source, the value and the expectation.

/// A name for a Job and a Service in Kubernetes (RFC 1035), with at most `most` characters.
[[nodiscard]] Result<std::string> read_name(const Sourced<std::string>& text, std::size_t most = 63);

/// A name of an existing object, such as a Secret (RFC 1123): dots are allowed.
[[nodiscard]] Result<std::string> read_object_name(const Sourced<std::string>& text);

/// A name of a queue or a partition, without blanks, quotes and other special characters.
[[nodiscard]] Result<std::string> read_queue(const Sourced<std::string>& text);

/// An image reference for a container runtime.
[[nodiscard]] Result<std::string> read_image(const Sourced<std::string>& text);
/// An image for Slurm's plugin Pyxis: "registry.example#team/train:1.0", or the path of a file.
/// Source: Pyxis, --container-image.
[[nodiscard]] Result<std::string> read_slurm_image(const Sourced<std::string>& text);

/// A resource name such as "nvidia.com/gpu".
[[nodiscard]] Result<std::string> read_resource(const Sourced<std::string>& text);

/// Slurm's "gpu" or "gpu:a100".
[[nodiscard]] Result<std::string> read_gres(const Sourced<std::string>& text);
/// Name of a resource that a site has defined in PBS or LSF, such as "ngpus"; without ':', their separator.
[[nodiscard]] Result<std::string> read_batch_resource(const Sourced<std::string>& text);

/// A quantity above zero.
[[nodiscard]] Result<std::string> read_quantity(const Sourced<std::string>& text);
/// At least a mebibyte, so that a forgotten unit is noticed.
[[nodiscard]] Result<std::string> read_memory(const Sourced<std::string>& text);

/// Labels such as "pool=train,disk=ssd".
[[nodiscard]] Result<std::map<std::string, std::string>> read_selector(const Sourced<std::string>& text);

/// Taints that the pods tolerate, such as "dedicated=train:NoSchedule,spot".
[[nodiscard]] Result<std::vector<Toleration>> read_tolerations(const Sourced<std::string>& text);

/// A variable such as "NCCL_DEBUG=INFO".
[[nodiscard]] Result<NamedText> read_variable(const Sourced<std::string>& text);

/// A label such as "team=vision".
[[nodiscard]] Result<NamedText> read_label(const Sourced<std::string>& text);

/// A resource with its amount, such as "rdma/hca=1".
[[nodiscard]] Result<NamedText> read_amount(const Sourced<std::string>& text);

/// True for a label by which the controllers of Jobs and JobSets find their pods: other values than their own are refused.
bool is_of_controller(std::string_view label);

/// True for a resource that a plugin of the node offers, such as nvidia.com/gpu: Kubernetes counts it in whole numbers.
bool is_extended(std::string_view resource);

/// Fails for a resource or an amount that Kubernetes does not know or take: an extended resource has a domain, and is
/// counted in whole numbers. Source: kubernetes.io, "Extended resources".
[[nodiscard]] Result<> check_amount_of_pod(const NamedText& resource);

/// A volume such as "my-claim:/data" or "/scratch:/scratch:ro".
[[nodiscard]] Result<Volume> read_volume(const Sourced<std::string>& text);

}  // namespace muster::render
