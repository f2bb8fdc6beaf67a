// Templates as documents: inheritance, and the reader. Apart from mode_template.hpp, which most of the program includes, because
// a document brings Boost.JSON with it.
#pragma once

#include "base/yaml.hpp"
#include "modes/mode_template.hpp"

#include <map>
#include <string>
#include <string_view>

namespace muster {

/// A template as it was written, and the name by which errors call it.
struct TemplateDocument {
  YamlDocument document;
  std::string name;
};

/// By the names of their modes.
using Templates = std::map<std::string, TemplateDocument>;

/// The document with all that it takes over filled in: what it inherits from one of `known`, and what its
/// roles have in common. Fails with `BadData`, naming the file, the line and the field, where it inherits from
/// none of them or from itself.
[[nodiscard]] Result<YamlDocument> expand_template(const TemplateDocument& given,
                                                   const Templates& known);

/// Reads a template from its document, in which nothing is left to take over. Fails with `BadData`, naming `name`, the line and the field,
/// for a field that is unknown, missing or of the wrong kind, and for an unknown placeholder.
[[nodiscard]] Result<ModeTemplate> read_template(const YamlDocument& document,
                                                 std::string_view name);

/// The templates that are built in. A template of the user's may inherit from them.
[[nodiscard]] Templates builtin_documents();

}  // namespace muster
