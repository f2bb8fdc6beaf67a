#pragma once

// What each kind of manifest adds to the values that all have.

#include <muster/render/manifest.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::render {

/// By the names of the placeholders in templates/manifests.
using Values = std::map<std::string, std::string>;

void add_slurm_values(Values& values, const ManifestRequest& request);
void add_pod_values(Values& values, const ManifestRequest& request);

/// The codes of muster after which starting the job again may help: docs/interfaces.md.
[[nodiscard]] const std::vector<std::string>& restart_codes();

/// The text of that file in templates/manifests, filled.
[[nodiscard]] std::string fill_file(std::string_view file, const Values& values);

}  // namespace muster::render
