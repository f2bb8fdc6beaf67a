#pragma once

// Merges the user's patch into a pod.

#include "base/result.hpp"

#include <string>
#include <string_view>

namespace muster::render {

/// The pod with the patch merged in, as YAML without comments. Both have `metadata` and `spec` at their root. Maps
/// merge, and null takes a key away. Lists merge by the mountPath, name or key of their items; all other lists are
/// replaced. The patch's container "muster" stands for `container`.
/// Fails with `BadData`, naming `patch_name`, for a patch that is no YAML, has something else at its root, or leaves a
/// container without an image.
[[nodiscard]] Result<std::string> patched_pod(std::string_view pod, std::string_view patch,
                                              const std::string& patch_name, const std::string& container);

}  // namespace muster::render
