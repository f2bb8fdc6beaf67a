// Turns the document of a template into a ModeTemplate, strictly: a typing error in a template is
// found when it is read, not when a job misses a variable.
#include <muster/base/text.hpp>
#include <muster/mode/mode_template.hpp>

#include <algorithm>

namespace muster {
namespace {

/// Where we are in the document, for messages.
class Place {
 public:
  Place(const YamlDocument& document, std::string_view name) : document_(document), name_(name) {}

  [[nodiscard]] Error error(const std::string& path, const std::string& message) const {
    const auto line = document_.lines.find(path);
    const std::string at = line == document_.lines.end() ? "" : ":" + std::to_string(line->second);
    return Error{
        ErrorKind::BadData,
        std::string(name_) + at + ": " + (path.empty() ? "the template" : path) + " " + message};
  }

 private:
  const YamlDocument& document_;
  std::string_view name_;
};

std::string suggestion(const std::optional<std::string>& nearest) {
  return nearest ? "; did you mean '" + *nearest + "'?" : std::string();
}

Result<> check_fields(const json::object& object,
                      const std::vector<std::string>& known,
                      const std::string& path,
                      const Place& place) {
  for (const auto& member : object) {
    const std::string key(member.key());
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return place.error(path_of(path, key), "is unknown" + suggestion(nearest_name(key, known)));
    }
  }
  return {};
}

/// With its braces, as it would be written.
std::optional<std::string> nearest_placeholder(const std::string& typed) {
  const auto nearest = nearest_name(typed, placeholder_names());
  return nearest ? std::optional("{" + *nearest + "}") : std::nullopt;
}

/// Every "{name}" must be a placeholder; "{{" and "}}" stand for braces.
Result<> check_placeholders(const std::string& text, const std::string& path, const Place& place) {
  for (std::size_t at = text.find_first_of("{}"); at != std::string::npos;
       at = text.find_first_of("{}", at)) {
    if (at + 1 < text.size() && text[at + 1] == text[at]) {
      at += 2;
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (text[at] == '}' || end == std::string::npos) {
      return place.error(path, "has a brace without its partner; write '{{' for a brace");
    }
    const std::string name = text.substr(at + 1, end - at - 1);
    const auto& known = placeholder_names();
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return place.error(
          path,
          "uses the unknown placeholder '{" + name + "}'" + suggestion(nearest_placeholder(name)));
    }
    at = end + 1;
  }
  return {};
}

Result<std::string> read_text(const json::value& value,
                              const std::string& path,
                              const Place& place) {
  if (!value.is_string()) {
    return place.error(path, "must be text");
  }
  std::string text(value.get_string());
  if (text.find('\0') != std::string::npos) {
    return place.error(path, "must be text without a NUL byte");
  }
  if (auto checked = check_placeholders(text, path, place); !checked) {
    return checked.error();
  }
  return text;
}

Result<NamedTexts> read_named_texts(const json::value& value,
                                    const std::string& path,
                                    const Place& place) {
  if (!value.is_object()) {
    return place.error(path, "must be a list of NAME: value");
  }
  NamedTexts texts;
  for (const auto& member : value.get_object()) {
    const std::string name(member.key());
    auto text = read_text(member.value(), path_of(path, name), place);
    if (!text) {
      return text.error();
    }
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
      return place.error(path_of(path, name), "is no name of a variable");
    }
    texts.emplace_back(name, std::move(*text));
  }
  return texts;
}

Result<std::vector<std::string>> read_texts(const json::value& value,
                                            const std::string& path,
                                            const Place& place) {
  if (!value.is_array()) {
    return place.error(path, "must be a list");
  }
  std::vector<std::string> texts;
  for (const json::value& item : value.get_array()) {
    auto text = read_text(item, path_of(path, std::to_string(texts.size())), place);
    if (!text) {
      return text.error();
    }
    texts.push_back(std::move(*text));
  }
  return texts;
}

/// Reads the member `field` of `object` into `target` by `reader`, if it is there.
template <typename T>
Result<> read_field(T& target,
                    const json::object& object,
                    const std::string& field_path,
                    const Place& place,
                    Result<T> (*reader)(const json::value&, const std::string&, const Place&)) {
  const json::value* const value = object.if_contains(field_path.substr(field_path.rfind('/') + 1));
  if (value == nullptr) {
    return {};
  }
  auto read = reader(*value, field_path, place);
  if (!read) {
    return read.error();
  }
  target = std::move(*read);
  return {};
}

Result<RoleCount> read_count(const json::value& value,
                             const std::string& path,
                             const Place& place) {
  const std::string text = value.is_string() ? std::string(value.get_string()) : "";
  if (text == "per job") {
    return RoleCount::PerJob;
  }
  if (text == "per node") {
    return RoleCount::PerNode;
  }
  if (text == "per device") {
    return RoleCount::PerDevice;
  }
  return place.error(path, "must be 'per job', 'per node' or 'per device'");
}

Result<bool> read_yes_or_no(const json::value& value, const std::string& path, const Place& place) {
  const std::string text = value.is_string() ? std::string(value.get_string()) : "";
  if (text != "true" && text != "false") {
    return place.error(path, "must be true or false");
  }
  return text == "true";
}

Result<RoleTemplate> read_role(const json::value& value,
                               const std::string& path,
                               const Place& place) {
  if (!value.is_object()) {
    return place.error(path, "must have the fields of a role");
  }
  const json::object& object = value.get_object();
  RoleTemplate role;
  const std::vector<Result<>> steps = {
      check_fields(object,
                   {"name",
                    "count",
                    "decides_success",
                    "environment",
                    "environment_unless_set",
                    "unset",
                    "arguments",
                    "error_file"},
                   path,
                   place),
      read_field(role.name, object, path + "/name", place, read_text),
      read_field(role.count, object, path + "/count", place, read_count),
      read_field(role.decides_success, object, path + "/decides_success", place, read_yes_or_no),
      read_field(role.environment, object, path + "/environment", place, read_named_texts),
      read_field(role.environment_unless_set,
                 object,
                 path + "/environment_unless_set",
                 place,
                 read_named_texts),
      read_field(role.unset, object, path + "/unset", place, read_texts),
      read_field(role.arguments, object, path + "/arguments", place, read_texts),
      read_field(role.error_file, object, path + "/error_file", place, read_text)};
  for (const Result<>& step : steps) {
    if (!step) {
      return step.error();
    }
  }
  if (role.name.empty() || role.name.find('/') != std::string::npos) {
    return place.error(path, "needs a name that can be part of a file's name");
  }
  return role;
}

/// A file is written once on each node, so it knows no single worker.
Result<> check_no_worker(const std::string& text, const std::string& path, const Place& place) {
  for (const char* const name :
       {"error_file", "global_rank", "local_rank", "role", "role_rank", "role_world_size"}) {
    const std::string placeholder = "{" + std::string(name) + "}";
    if (text.find(placeholder) != std::string::npos) {
      return place.error(path, "uses " + placeholder + ", which differs from worker to worker");
    }
  }
  return {};
}

Result<FileTemplate> read_file(const json::value& value,
                               const std::string& path,
                               const Place& place) {
  if (!value.is_object()) {
    return place.error(path, "must have path, mode and content");
  }
  const json::object& object = value.get_object();
  FileTemplate file;
  const std::vector<Result<>> steps = {
      check_fields(object, {"path", "mode", "content"}, path, place),
      read_field(file.path, object, path + "/path", place, read_text),
      read_field(file.mode, object, path + "/mode", place, read_text),
      read_field(file.content, object, path + "/content", place, read_text),
      check_no_worker(file.path, path + "/path", place),
      check_no_worker(file.content, path + "/content", place)};
  for (const Result<>& step : steps) {
    if (!step) {
      return step.error();
    }
  }
  const bool is_octal = file.mode.size() == 4 && file.mode.front() == '0' &&
                        file.mode.find_first_not_of("01234567") == std::string::npos;
  if (file.path.empty() || !is_octal) {
    return place.error(path, "needs a path, and a mode such as 0640");
  }
  return file;
}

template <typename T>
Result<std::vector<T>> read_list(const json::object& root,
                                 const char* field,
                                 const Place& place,
                                 Result<T> (*reader)(const json::value&,
                                                     const std::string&,
                                                     const Place&)) {
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

}  // namespace

const std::vector<std::string>& placeholder_names() {
  static const std::vector<std::string> names = {"attempt",
                                                 "cores_per_worker",
                                                 "error_file",
                                                 "global_rank",
                                                 "job_id",
                                                 "local_rank",
                                                 "local_world_size",
                                                 "master_address",
                                                 "max_restarts",
                                                 "node_rank",
                                                 "nodes",
                                                 "role",
                                                 "role_rank",
                                                 "role_world_size",
                                                 "run_dir",
                                                 "worker_port",
                                                 "world_size"};
  return names;
}

std::vector<std::string> roles_to_be_given(const ModeTemplate& mode) {
  std::vector<std::string> names;
  for (const RoleTemplate& role : mode.roles) {
    if (role.may_be_given) {
      names.push_back(role.name);
    }
  }
  return names;
}

Result<ModeTemplate> read_template(const YamlDocument& document, std::string_view name) {
  const Place place(document, name);
  if (!document.root.is_object()) {
    return place.error("", "must have the fields mode and roles");
  }
  const json::object& root = document.root.get_object();
  if (auto checked = check_fields(root, {"mode", "roles", "files"}, "", place); !checked) {
    return checked.error();
  }
  ModeTemplate mode;
  if (auto read = read_field(mode.name, root, "/mode", place, read_text); !read) {
    return read.error();
  }
  auto roles = read_list(root, "roles", place, read_role);
  if (!roles) {
    return roles.error();
  }
  auto files = read_list(root, "files", place, read_file);
  if (!files) {
    return files.error();
  }
  mode.roles = std::move(*roles);
  mode.files = std::move(*files);
  const bool has_deciding =
      std::any_of(mode.roles.begin(), mode.roles.end(), [](const RoleTemplate& role) {
        return role.decides_success;
      });
  if (mode.name.empty() || !has_deciding) {
    return place.error("", "needs the field mode and a role that decides success");
  }
  return mode;
}

}  // namespace muster
