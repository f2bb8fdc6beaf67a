#pragma once

// Merges the user's patch into a pod, and refuses what Kubernetes would refuse.

#include "base/json_fwd.hpp"
#include "base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::render {

/// The user's patch, with what the kind of manifest demands of the pods.
struct PodPatch {
  std::string text;
  std::string name;                     ///< its file's, for messages
  std::string container;                ///< name of the job's container, which the patch calls "muster"
  std::vector<std::string> defaults{};  ///< default requests; a limit in the patch replaces one
  std::string device_resource{};        ///< empty for the launcher's pod, which has no extended resources
  int devices = 0;
  bool is_of_jobs = true;        ///< false: the pods belong to no Job, so that the user may set a Job's labels
  std::string restart_policy{};  ///< the only one that the controller accepts; empty: any
};

/// The pod with the patch merged in, as YAML without comments. Both have `metadata` and `spec` at their root. Maps
/// merge, and null takes a key away. Lists merge by the mountPath or name of their items; tolerations are appended; all
/// other lists are replaced. Another source of a variable or a volume replaces the old one. Numbers become text where
/// Kubernetes takes text alone.
/// Fails with `BadData`, naming the file, for a patch that is no YAML, has something else at its root, leaves a container
/// without an image, sets the devices, or makes a pod that Kubernetes refuses.
[[nodiscard]] Result<std::string> patched_pod(std::string_view pod, const PodPatch& patch);

/// Fails with `BadData` for a patched pod that Kubernetes refuses: labels, restart policy, ports, mounts and amounts.
[[nodiscard]] Result<> check_patched_pod(const json::value& pod, const PodPatch& patch);

/// The seconds of `terminationGracePeriodSeconds` in a patch; empty: it sets none.
std::optional<std::int64_t> grace_in_patch(std::string_view patch);

}  // namespace muster::render
