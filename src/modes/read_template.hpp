#pragma once

// Templates as documents: inheritance, and the reader. Apart from mode_template.hpp, which most of the program includes, because
// a document brings Boost.JSON with it.

#include "base/yaml.hpp"
#include "modes/mode_template.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

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
[[nodiscard]] Result<YamlDocument> expand_template(const TemplateDocument& given, const Templates& known);

/// Reads a template from its document, in which nothing is left to take over. Fails with `BadData`, naming `name`, the line and the field,
/// for a field that is unknown, missing or of the wrong kind, and for an unknown placeholder.
[[nodiscard]] Result<ModeTemplate> read_template(const YamlDocument& document, std::string_view name);

/// The templates that are built in. A template of the user's may inherit from them.
[[nodiscard]] Templates builtin_documents();

// Strict readers of single fields of a template, whatever they mean.

/// Where we are in the document, for messages, and what its texts may contain.
class Place {
 public:
  Place(const YamlDocument& document, std::string_view name) : document_(document), name_(name) {}

  /// "FILE:LINE: PATH MESSAGE".
  [[nodiscard]] Error error(const std::string& path, const std::string& message) const;

  /// "FILE:LINE: PATH".
  [[nodiscard]] std::string at(const std::string& path) const;

  /// The names that the template itself defines, which placeholders may use as well.
  std::set<std::string> parameters;
  std::set<std::string> roles;

  [[nodiscard]] bool knows(const std::string& placeholder) const;

 private:
  const YamlDocument& document_;
  std::string_view name_;
};

/// Fails for a member of `object` that is not among `known`, with the nearest that is.
[[nodiscard]] Result<> check_fields(const json::object& object, const std::vector<std::string>& known,
                                    const std::string& path, const Place& place);

/// Text in which each {placeholder} is known.
[[nodiscard]] Result<std::string> read_text(const json::value& value, const std::string& path, const Place& place);
[[nodiscard]] Result<NamedTexts> read_named_texts(const json::value& value, const std::string& path,
                                                  const Place& place);
[[nodiscard]] Result<std::vector<std::string>> read_texts(const json::value& value, const std::string& path,
                                                          const Place& place);
[[nodiscard]] Result<bool> read_yes_or_no(const json::value& value, const std::string& path, const Place& place);
// Each of these knows one word.
/// "rank table".
[[nodiscard]] Result<bool> read_rank_table(const json::value& value, const std::string& path, const Place& place);
/// "log folder".
[[nodiscard]] Result<bool> read_log_folder(const json::value& value, const std::string& path, const Place& place);

template <typename T>
using Reader = Result<T> (*)(const json::value&, const std::string&, const Place&);

/// Reads the member that `path` ends with into `target` by `reader`, if it is there.
template <typename T>
[[nodiscard]] Result<> read_field(T& target, const json::object& object, const std::string& path, const Place& place,
                                  Reader<T> reader) {
  const json::value* const value = object.if_contains(path.substr(path.rfind('/') + 1));
  if (value == nullptr) {
    return {};
  }
  auto read = reader(*value, path, place);
  if (!read) {
    return read.error();
  }
  target = std::move(*read);
  return {};
}

/// Reads a list of things, such as the roles. No list is an empty one.
template <typename T>
[[nodiscard]] Result<std::vector<T>> read_list(const json::object& root, const char* field, const Place& place,
                                               Reader<T> reader) {
  std::vector<T> items;
  const json::value* const list = root.if_contains(field);
  if (list == nullptr) {
    return items;
  }
  const std::string path = std::string("/") + field;
  if (!list->is_array()) {
    return place.error(path, "must be a list");
  }
  for (const json::value& value : list->get_array()) {
    auto item = reader(value, path_of(path, std::to_string(items.size())), place);
    if (!item) {
      return item.error();
    }
    items.push_back(std::move(*item));
  }
  return items;
}

/// The first error among the steps, if any failed.
[[nodiscard]] Result<> all_of(const std::vector<Result<>>& steps);

// The parts of a template that say what a mode needs beside its processes.

/// A role's own program: texts, or the program of the command line in one place of it.
[[nodiscard]] Result<std::vector<std::string>> read_program(const json::value& value, const std::string& path,
                                                            const Place& place);

/// Reads the services and the inputs. A mode that uses {worker_port} needs that service, also when it
/// does not name it.
[[nodiscard]] Result<> read_needs(ModeTemplate& mode, const json::object& root, const Place& place);

}  // namespace muster
