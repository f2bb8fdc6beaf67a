#pragma once

// Merges the user's patch into a pod.

#include "base/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace muster::render {

/// The pod with the patch merged in, as YAML without comments. Both have `metadata` and `spec` at their root. Maps
/// merge, and null takes a key away. Lists merge by the mountPath or name of their items; tolerations are appended; all
/// other lists are replaced. Another source of a variable or a volume replaces the old one. The patch's container
/// "muster" stands for `container`, and its limits replace the requests named in `defaults`.
/// Fails with `BadData`, naming `patch_name`, for a patch that is no YAML, has something else at its root, leaves a
/// container without an image, or limits what the container requests to less.
[[nodiscard]] Result<std::string> patched_pod(std::string_view pod, std::string_view patch,
                                              const std::string& patch_name, const std::string& container,
                                              const std::vector<std::string>& defaults);

}  // namespace muster::render
