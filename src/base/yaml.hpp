#pragma once

// Reads and prints YAML as JSON values.

#include "base/json.hpp"
#include "base/result.hpp"

#include <map>
#include <string>
#include <string_view>

namespace muster {

/// Chooses how scalars without quotes are read.
enum class Scalars {
  Text,  ///< they stay text: the reader of a field knows its type
  Typed  ///< true, false and whole numbers get their type, octal ones as "0644" too; the rest stays text
};

/// A YAML document as JSON values.
struct YamlDocument {
  json::value root;
  /// Maps the path of a value, such as "/roles/0/name", to the line of its key, or of the value where it has no key.
  /// Lines count from 1.
  std::map<std::string, int> lines;
};

/// The key of a member in `YamlDocument::lines`.
std::string path_of(const std::string& parent, const std::string& member);

/// Reads one document. Fails with `BadData`, naming `name` and the line, for text that is not YAML.
/// Anchors and aliases are refused: a document of a few lines could expand to gigabytes.
[[nodiscard]] Result<YamlDocument> parse_yaml(std::string_view text, std::string_view name,
                                              Scalars scalars = Scalars::Text);

/// Prints JSON values as YAML, keys in the order of the objects.
std::string to_yaml(const json::value& document);

}  // namespace muster
