// Resolves the inheritance of a template: from another template, and from the fields that its roles have in common.
// The documents are joined with few checks, since read_template checks the result; each value keeps its line.
#include "base/lists.hpp"
#include "base/text.hpp"
#include "modes/read_template.hpp"

#include <algorithm>

namespace muster {
namespace {

constexpr const char* kInherits = "inherits";
constexpr const char* kWithout = "without";
constexpr const char* kCommon = "common";

const json::value* member_of(const json::value& value, std::string_view name) {
  return value.is_object() ? value.get_object().if_contains(name) : nullptr;
}

/// The text of a member; empty where it is missing.
std::string text_of(const json::value& value, std::string_view name) {
  return std::string(muster::text_of(member_of(value, name)));
}

/// Finds an item by its name among the first `count`.
json::value* find_named(json::array& list, std::size_t count, const std::string& name) {
  const auto end = list.begin() + static_cast<std::ptrdiff_t>(count);
  const auto found = std::find_if(
      list.begin(), end, [&](const json::value& item) { return !name.empty() && text_of(item, "name") == name; });
  return found == end ? nullptr : &*found;
}

template <typename Condition>
bool remove_if_any(json::array& list, const Condition& condition) {
  const auto end = std::remove_if(list.begin(), list.end(), condition);
  const bool is_any = end != list.end();
  list.erase(end, list.end());
  return is_any;
}

/// Removes a variable, or a name in a list of names; false where it is missing.
bool remove_from(json::value& field, const std::string& name) {
  if (field.is_object()) {
    return field.get_object().erase(name) != 0;
  }
  return field.is_array() && remove_if_any(field.get_array(), [&](const json::value& item) {
           return item.is_string() && item.get_string() == name;
         });
}

/// Removes a parameter, or a variable from all roles; false where it is missing.
bool remove_everywhere(json::object& root, const std::string& name) {
  const auto is_named = [&](const json::value& item) { return text_of(item, "name") == name; };
  bool is_removed = false;
  if (json::value* const parameters = root.if_contains("parameters")) {
    is_removed = remove_if_any(parameters->as_array(), is_named);
  }
  for (json::value& role : root["roles"].as_array()) {
    for (const char* const field : {"environment", "environment_unless_set", "environment_if_given", "unset"}) {
      json::value* const names = role.as_object().if_contains(field);
      is_removed = (names != nullptr && remove_from(*names, name)) || is_removed;
    }
  }
  return is_removed;
}

/// Merges a template into the one that it inherits from.
class Expansion {
 public:
  Expansion(const TemplateDocument& given, json::object parent)
      : given_(given), place_(given.document, given.name), root_(std::move(parent)) {}

  Result<YamlDocument> expand() {
    const json::object& own = given_.document.root.get_object();
    for (const auto& [path, line] : given_.document.lines) {
      if (path.find('/', 1) == std::string::npos) {
        lines_[path] = line;
      }
    }
    static const std::vector<std::string> fields = {"mode",  "inherits", "without",  "common",           "parameters",
                                                    "roles", "files",    "services", "takes_given_port", "inputs"};
    TRY(all_of({check_fields(own, fields, "", place_), take_away(own), check_common(own)}));
    merge_field(own, "parameters");
    merge_roles(own);
    for (const char* const field : {"files", "services", "inputs", "takes_given_port"}) {
      merge_field(own, field);
    }
    root_.erase("mode");
    merge_field(own, "mode");
    return YamlDocument{std::move(root_), std::move(lines_)};
  }

 private:
  /// Removes the inherited parameters and variables that the template lists under `without`.
  Result<> take_away(const json::object& own) {
    const json::value* const without = own.if_contains(kWithout);
    if (without == nullptr) {
      return {};
    }
    const std::string path = path_of("", kWithout);
    if (!own.contains(kInherits)) {
      return place_.error(path, "takes away from nothing: there is no 'inherits'");
    }
    const auto names = TRY(read_texts(*without, path, place_));
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!remove_everywhere(root_, names[i])) {
        return place_.error(path_of(path, std::to_string(i)), "is '" + names[i] +
                                                                  "', expected a parameter or a variable of '" +
                                                                  text_of(given_.document.root, kInherits) + "'");
      }
    }
    return {};
  }

  [[nodiscard]] Result<> check_common(const json::object& own) const {
    const json::value* const common = own.if_contains(kCommon);
    const bool is_wrong = common != nullptr && (!common->is_object() || common->get_object().contains("name"));
    return is_wrong ? place_.error(path_of("", kCommon), "must have fields of a role, but no name") : Result<>();
  }

  /// Merges a field of the child template: replaces it, but joins lists. A parameter replaces the inherited one of
  /// its name; files have no names and are appended.
  void merge_field(const json::object& own, const char* field) {
    const json::value* const list = own.if_contains(field);
    if (list == nullptr) {
      return;
    }
    const std::string path = path_of("", field);
    json::value& target = root_[field];
    if (!list->is_array() || !target.is_array()) {
      merge(target = nullptr, path, *list, path);
      return;
    }
    json::array& items = target.get_array();
    const std::size_t of_parent = items.size();
    for (std::size_t i = 0; i < list->get_array().size(); ++i) {
      const json::value& value = list->get_array()[i];
      json::value* item = find_named(items, of_parent, text_of(value, "name"));
      item = item != nullptr ? item : &items.emplace_back(nullptr);
      *item = nullptr;
      merge(*item, path_in(path, items, *item), value, path_of(path, std::to_string(i)));
    }
  }

  /// Merges the roles: each gets the common fields, then its own.
  void merge_roles(const json::object& own) {
    const json::value* const roles = own.if_contains("roles");
    if (roles != nullptr && !roles->is_array()) {
      root_["roles"] = *roles;
      copy_lines("/roles", "/roles");
      return;
    }
    json::value& target = root_["roles"];
    json::array& items = target.is_array() ? target.get_array() : target.emplace_array();
    const std::size_t of_parent = items.size();
    for (json::value& role : items) {
      merge_common(own, role, path_in("/roles", items, role));
    }
    for (std::size_t i = 0; roles != nullptr && i < roles->get_array().size(); ++i) {
      const json::value& value = roles->get_array()[i];
      json::value* role = find_named(items, of_parent, text_of(value, "name"));
      if (role == nullptr) {
        role = &items.emplace_back(json::object());
        merge_common(own, *role, path_in("/roles", items, *role));
      }
      merge_fields(*role, path_in("/roles", items, *role), value, path_of("/roles", std::to_string(i)));
    }
  }

  void merge_common(const json::object& own, json::value& role, const std::string& to) {
    if (const json::value* const common = own.if_contains(kCommon)) {
      merge_fields(role, to, *common, path_of("", kCommon));
    }
  }

  void merge_fields(json::value& role, const std::string& to, const json::value& fields, const std::string& from) {
    if (!fields.is_object()) {
      role = fields;
      copy_lines(to, from);
      return;
    }
    const auto line = given_.document.lines.find(from);
    if (line != given_.document.lines.end()) {
      lines_[to] = line->second;
    }
    for (const auto& field : fields.get_object()) {
      const std::string name(field.key());
      json::value& target = role.as_object()[name];
      if (name == "program") {  // a command is replaced as a whole
        target = nullptr;
      }
      merge(target, path_of(to, name), field.value(), path_of(from, name));
    }
  }

  /// Merges a value: variables are joined and the new one wins, lists are appended, anything else is replaced.
  void merge(json::value& target, const std::string& to, const json::value& value, const std::string& from) {
    if (target.is_object() && value.is_object()) {
      for (const auto& member : value.get_object()) {
        target.get_object()[member.key()] = member.value();
      }
      copy_lines(to, from);
    } else if (target.is_array() && value.is_array()) {
      for (std::size_t i = 0; i < value.get_array().size(); ++i) {
        const std::string index = std::to_string(target.get_array().size());
        target.get_array().push_back(value.get_array()[i]);
        copy_lines(path_of(to, index), path_of(from, std::to_string(i)));
      }
    } else {
      target = value;
      copy_lines(to, from);
    }
  }

  static std::string path_in(const std::string& path, const json::array& items, const json::value& item) {
    return path_of(path, std::to_string(&item - items.data()));
  }

  /// Copies the line numbers of a value, and of the values inside it, to its new path: errors name these lines.
  void copy_lines(const std::string& to, const std::string& from) {
    const auto& lines = given_.document.lines;
    for (auto at = lines.lower_bound(from); at != lines.end() && at->first.starts_with(from); ++at) {
      const std::string rest = at->first.substr(from.size());
      if (rest.empty() || rest.front() == '/') {
        lines_[to + rest] = at->second;
      }
    }
  }

  const TemplateDocument& given_;
  Place place_;
  json::object root_;
  std::map<std::string, int> lines_;
};

/// The chain of inherited templates, the nearest first. Fails for an unknown name and for a cycle.
Result<std::vector<const TemplateDocument*>> find_parents(const TemplateDocument& given, const Templates& known) {
  const auto names = mapped(known, [](const auto& entry) { return entry.first; });
  std::vector<const TemplateDocument*> chain = {&given};
  while (const json::value* const inherits = member_of(chain.back()->document.root, kInherits)) {
    const TemplateDocument& child = *chain.back();
    const Place place(child.document, child.name);
    const std::string path = path_of("", kInherits);
    const auto name = TRY(read_text(*inherits, path, place));
    const auto parent = known.find(name);
    if (parent == known.end()) {
      return place.error(path, "is '" + name + "', expected one of " + join(names, ", ") + did_you_mean(name, names));
    }
    if (contains(chain, &parent->second)) {
      return place.error(path, "is '" + name + "', which inherits from this one");
    }
    chain.push_back(&parent->second);
  }
  chain.erase(chain.begin());
  return chain;
}

}  // namespace

Result<YamlDocument> expand_template(const TemplateDocument& given, const Templates& known) {
  auto chain = TRY(find_parents(given, known));
  std::reverse(chain.begin(), chain.end());
  chain.push_back(&given);
  json::object parent;
  for (const TemplateDocument* const next : chain) {
    if (!next->document.root.is_object()) {
      return Place(next->document, next->name).error("", "must have the fields mode and roles");
    }
    auto expanded = Expansion(*next, std::move(parent)).expand();
    if (!expanded || next == &given) {
      return expanded;
    }
    // A parent must be valid before another template is built on it.
    TRY(read_template(*expanded, next->name));
    parent = std::move(expanded->root.as_object());
  }
  return given.document;
}

}  // namespace muster
