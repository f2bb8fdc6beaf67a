#pragma once

// Reads templates from documents, with inheritance. Separate from mode_template.hpp, which most of the program
// includes, because a document includes Boost.JSON.

#include "base/lists.hpp"
#include "base/yaml.hpp"
#include "modes/mode_template.hpp"
#include "options/readers.hpp"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace muster {

/// A template's document, and its name in errors.
struct TemplateDocument {
  YamlDocument document;
  std::string name;
};

/// Templates by the names of their modes.
using Templates = std::map<std::string, TemplateDocument>;

/// Completes a document with the fields that it inherits from one of `known`, and each role with the roles' common
/// fields. Fails with `BadData`, naming the file, the line and the field, for an unknown parent or a cycle.
[[nodiscard]] Result<YamlDocument> expand_template(const TemplateDocument& given, const Templates& known);

/// Reads a template from its expanded document. Fails with `BadData`, naming `name`, the line and the field, for a
/// field that is unknown, missing or of the wrong kind, and for an unknown placeholder.
[[nodiscard]] Result<ModeTemplate> read_template(const YamlDocument& document, std::string_view name);

/// The built-in templates, from which the user's templates may inherit.
Templates builtin_documents();

// Strict readers of single fields of a template.

/// A document for error messages, and the placeholders that its texts may use.
class Place {
 public:
  Place(const YamlDocument& document, std::string_view name) : document_(document), name_(name) {}

  /// "FILE:LINE: PATH MESSAGE".
  Error error(const std::string& path, const std::string& message) const;

  /// "FILE:LINE: PATH".
  std::string at(const std::string& path) const;

  /// Names that the template defines; placeholders may use them.
  std::set<std::string> parameters;
  std::set<std::string> roles;

  bool knows(const std::string& placeholder) const;

 private:
  const YamlDocument& document_;
  std::string_view name_;
};

/// Fails for a member of `object` whose name is not in `known`; the error suggests the nearest known name.
[[nodiscard]] Result<> check_fields(const json::object& object, const std::vector<std::string>& known,
                                    const std::string& path, const Place& place);

/// Reads a text and checks its placeholders.
[[nodiscard]] Result<std::string> read_text(const json::value& value, const std::string& path, const Place& place);
[[nodiscard]] Result<std::vector<std::string>> read_texts(const json::value& value, const std::string& path,
                                                          const Place& place);
/// Reads a field whose only valid value is the text `kText`, such as "rank table". True if the field has it.
template <Literal kText>
[[nodiscard]] Result<bool> read_fixed_text(const json::value& value, const std::string& path, const Place& place) {
  const std::string_view text = kText.text.data();
  return value.is_string() && value.get_string() == text ? Result<bool>(true)
                                                         : place.error(path, "must be '" + std::string(text) + "'");
}

/// The members of an object; `expected` follows the path in the error.
[[nodiscard]] Result<const json::object*> read_members(const json::value& value, const std::string& path,
                                                       const Place& place, const char* expected);

template <typename T>
using Reader = Result<T> (*)(const json::value&, const std::string&, const Place&);

/// Reads the last member of `path` into `target` with `reader`, if it is there.
template <typename T>
[[nodiscard]] Result<> read_field(T& target, const json::object& object, const std::string& path, const Place& place,
                                  Reader<T> reader) {
  const json::value* const value = object.if_contains(path.substr(path.rfind('/') + 1));
  if (value == nullptr) {
    return {};
  }
  target = TRY(reader(*value, path, place));
  return {};
}

/// A field of a template, and the function that reads it into a T.
template <typename T>
struct FieldRow {
  const char* name;
  Result<> (*read)(T& target, const json::value& value, const std::string& path, const Place& place);
};

template <auto kMember>
using MemberOf = std::remove_reference_t<decltype(std::declval<ClassOf<kMember>&>().*kMember)>;

/// The function for a row: reads the field's value by `kRead` into `kMember`.
template <auto kMember, Reader<MemberOf<kMember>> kRead>
inline constexpr auto kField =
    [](ClassOf<kMember>& target, const json::value& value, const std::string& path, const Place& place) -> Result<> {
  target.*kMember = TRY(kRead(value, path, place));
  return {};
};

/// Reads the fields of an object in the order of their rows. Fails for a field without a row.
template <typename T, typename Rows>
[[nodiscard]] Result<> read_fields(T& target, const json::object& object, const Rows& rows, const std::string& path,
                                   const Place& place) {
  TRY(check_fields(object, mapped(rows, [](const FieldRow<T>& row) { return std::string(row.name); }), path, place));
  for (const FieldRow<T>& row : rows) {
    if (const json::value* const value = object.if_contains(row.name)) {
      TRY(row.read(target, *value, path_of(path, row.name), place));
    }
  }
  return {};
}

/// Reads a list, such as the roles; a missing list is empty.
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
    auto item = TRY(reader(value, path_of(path, std::to_string(items.size())), place));
    items.push_back(std::move(item));
  }
  return items;
}

/// The first error among the steps, if any failed.
[[nodiscard]] Result<> all_of(const std::vector<Result<>>& steps);

// Reads the services, the inputs and the programs of roles.

/// Reads a role's own program; one of its words may stand for the command line's program.
[[nodiscard]] Result<std::vector<std::string>> read_program(const json::value& value, const std::string& path,
                                                            const Place& place);

/// Reads the services and the inputs. Adds the service of {worker_port} to a mode that uses this placeholder.
[[nodiscard]] Result<> read_needs(ModeTemplate& mode, const json::object& root, const Place& place);

}  // namespace muster
