#pragma once

// The files of templates/manifests, made into C++ at build time by cmake/embed_texts.cmake.

#include <span>
#include <string_view>

namespace muster::render {

struct ManifestText {
  std::string_view name;  ///< of the file: "slurm.sh"
  std::string_view text;
};

[[nodiscard]] std::span<const ManifestText> manifest_texts();

}  // namespace muster::render
