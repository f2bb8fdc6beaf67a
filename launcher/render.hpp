#pragma once

// `muster render`: prints a manifest, or says whether the whole gang fits into the cluster. It reads no
// environment and starts nothing.

#include "options.hpp"

#include "render/manifest.hpp"

namespace muster {

/// What stands where the kind of manifest is read.
inline constexpr const char* kRenderKind = "the kind of manifest";

[[nodiscard]] OptionTable render_options();
[[nodiscard]] std::string render_help();

/// What the manifest is made of. Fails with `BadUsage`.
[[nodiscard]] Result<render::ManifestRequest> read_manifest_request(const CommandLine& line);

/// Prints whether so many pods fit; the value is the exit code.
[[nodiscard]] Result<int> check_fit(const Settings& settings);

/// What each pod asks for, and how many there are. Fails with `BadUsage`.
[[nodiscard]] Result<> read_needs(render::PodNeeds& needs,
                                  const Settings& settings,
                                  bool is_of_kubernetes);
[[nodiscard]] Result<> read_nodes(int& nodes, const Settings& settings);

/// Answers the command line; the value is the exit code.
[[nodiscard]] Result<int> run_render(const CommandLine& line);

}  // namespace muster
