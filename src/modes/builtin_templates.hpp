#pragma once

// The templates of templates/modes, made into JSON at build time by embed_templates.cpp.

#include <span>
#include <string_view>

namespace muster {

struct BuiltinTemplate {
  std::string_view name;  ///< of its file: several templates may be of one mode
  std::string_view mode;
  std::string_view json;
};

[[nodiscard]] std::span<const BuiltinTemplate> builtin_templates();

}  // namespace muster
