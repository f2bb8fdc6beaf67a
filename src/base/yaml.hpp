#pragma once

#include "base/json.hpp"
#include "base/result.hpp"

#include <map>
#include <string>
#include <string_view>

namespace muster {

/// A YAML document as JSON values. Scalars stay text: who reads a field knows its type.
struct YamlDocument {
  json::value root;
  /// The line, counted from 1, of each value, or of its key where it has one; the key here is its
  /// path, such as "/roles/0/name".
  std::map<std::string, int> lines;
};

/// The key of a member in `YamlDocument::lines`, from that of what it belongs to.
[[nodiscard]] std::string path_of(const std::string& parent, const std::string& member);

/// Reads one document. Fails with `BadData`, naming `name` and the line, when it is no YAML.
/// Anchors and aliases are refused: a document of a few lines could expand to gigabytes.
[[nodiscard]] Result<YamlDocument> parse_yaml(std::string_view text, std::string_view name);

/// Prints JSON values as YAML, keys in the order of the objects.
[[nodiscard]] std::string to_yaml(const json::value& document);

}  // namespace muster
