// Reads a template's document into a ModeTemplate, strictly: a typing error in a template is found when it is read,
// not when a job misses a variable.
#include "modes/read_template.hpp"

#include "base/encoding.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace muster {

// Reads single fields; errors name the file, the line and the path.

namespace {

/// Fails unless every "{name}" is a placeholder; "{{" and "}}" stand for braces.
Result<> check_placeholders(const std::string& text, const std::string& path, const Place& place) {
  for (std::size_t at = text.find_first_of("{}"); at != std::string::npos; at = text.find_first_of("{}", at)) {
    if (at + 1 < text.size() && text[at + 1] == text[at]) {
      at += 2;
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (text[at] == '}' || end == std::string::npos) {
      return place.error(path, "has a brace without its partner; write '{{' for a brace");
    }
    const std::string name = text.substr(at + 1, end - at - 1);
    if (!place.knows(name)) {
      const auto nearest = nearest_name(name, placeholder_names(place.parameters, place.roles));
      return place.error(path, "uses the unknown placeholder '{" + name + "}'" +
                                   (nearest ? "; did you mean '{" + *nearest + "}'?" : ""));
    }
    at = end + 1;
  }
  return {};
}

}  // namespace

std::string Place::at(const std::string& path) const {
  const auto line = document_.lines.find(path);
  const std::string where = line == document_.lines.end() ? "" : ":" + std::to_string(line->second);
  return std::string(name_) + where + ": " + (path.empty() ? "the template" : path);
}

Error Place::error(const std::string& path, const std::string& message) const {
  return Error{ErrorKind::BadData, at(path) + " " + message};
}

bool Place::knows(const std::string& placeholder) const {
  const std::size_t colon = placeholder.find(':');
  const std::string kind = placeholder.substr(0, colon);
  const bool is_of_role = colon != std::string::npos && (kind == kCountOf || kind == kEndpointsOf);
  return contains(placeholder_names(), placeholder) || parameters.contains(placeholder) ||
         (is_of_role && roles.contains(placeholder.substr(colon + 1)));
}

Result<> check_fields(const json::object& object, const std::vector<std::string>& known, const std::string& path,
                      const Place& place) {
  for (const auto& member : object) {
    const std::string key(member.key());
    if (!contains(known, key)) {
      return place.error(path_of(path, key), "is unknown" + did_you_mean(key, known));
    }
  }
  return {};
}

Result<std::string> read_text(const json::value& value, const std::string& path, const Place& place) {
  if (!value.is_string()) {
    return place.error(path, "must be text");
  }
  std::string text(value.get_string());
  if (text.find('\0') != std::string::npos) {
    return place.error(path, "must be text without a NUL byte");
  }
  TRY(check_placeholders(text, path, place));
  return text;
}

Result<std::vector<std::string>> read_texts(const json::value& value, const std::string& path, const Place& place) {
  if (!value.is_array()) {
    return place.error(path, "must be a list");
  }
  std::vector<std::string> texts;
  for (const json::value& item : value.get_array()) {
    auto text = TRY(read_text(item, path_of(path, std::to_string(texts.size())), place));
    texts.push_back(std::move(text));
  }
  return texts;
}

Result<const json::object*> read_members(const json::value& value, const std::string& path, const Place& place,
                                         const char* expected) {
  const json::object* const members = value.if_object();
  return members != nullptr ? Result<const json::object*>(members) : place.error(path, expected);
}

Result<> all_of(const std::vector<Result<>>& steps) {
  const auto failed = std::ranges::find_if(steps, [](const Result<>& step) { return !step; });
  return failed == steps.end() ? Result<>() : *failed;
}

namespace {

Result<NamedTexts> read_named_texts(const json::value& value, const std::string& path, const Place& place) {
  if (!value.is_object()) {
    return place.error(path, "must be a list of NAME: value");
  }
  NamedTexts texts;
  for (const auto& member : value.get_object()) {
    const std::string name(member.key());
    auto text = TRY(read_text(member.value(), path_of(path, name), place));
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string::npos) {
      return place.error(path_of(path, name), "is not a valid variable name");
    }
    texts.emplace_back(name, std::move(text));
  }
  return texts;
}

Result<bool> read_yes_or_no(const json::value& value, const std::string& path, const Place& place) {
  const std::string text = value.is_string() ? std::string(value.get_string()) : "";
  if (text != "true" && text != "false") {
    return place.error(path, "must be true or false");
  }
  return text == "true";
}

Result<RoleCount> read_count(const json::value& value, const std::string& path, const Place& place) {
  const std::string text = value.is_string() ? std::string(value.get_string()) : "";
  for (const auto& [word, count] :
       {std::pair("none", RoleCount::None), std::pair("per job", RoleCount::PerJob),
        std::pair("per node", RoleCount::PerNode), std::pair("per other node", RoleCount::PerOtherNode),
        std::pair("per device", RoleCount::PerDevice)}) {
    if (text == word) {
      return count;
    }
  }
  return place.error(path, "must be 'none', 'per job', 'per node', 'per other node' or 'per device'");
}

/// Reads true, false, or "without ROLE": the role decides in a job without that other role.
Result<> read_decides(RoleTemplate& role, const json::value& value, const std::string& path, const Place& place) {
  constexpr std::string_view kWithoutRole = "without ";
  const std::string text(muster::text_of(&value));
  if (!text.starts_with(kWithoutRole)) {
    role.decides_success = TRY(read_yes_or_no(value, path, place));
    return {};
  }
  role.decides_only_without_role = text.substr(kWithoutRole.size());
  if (!place.roles.contains(role.decides_only_without_role)) {
    return place.error(path, "names the role '" + role.decides_only_without_role + "', which does not exist");
  }
  return {};
}

constexpr auto kRoleFields = std::to_array<FieldRow<RoleTemplate>>({
    {"name", kField<&RoleTemplate::name, read_text>},
    {"count", kField<&RoleTemplate::count, read_count>},
    {"may_be_given", kField<&RoleTemplate::may_be_given, read_yes_or_no>},
    {"decides_success", read_decides},
    {"environment", kField<&RoleTemplate::environment, read_named_texts>},
    {"environment_unless_set", kField<&RoleTemplate::environment_unless_set, read_named_texts>},
    {"environment_if_given", kField<&RoleTemplate::environment_if_given, read_named_texts>},
    {"program", kField<&RoleTemplate::program, read_program>},
    {"unset", kField<&RoleTemplate::unset, read_texts>},
    {"arguments", kField<&RoleTemplate::arguments, read_texts>},
    {"arguments_first", kField<&RoleTemplate::arguments_first, read_yes_or_no>},
    {"arguments_of_several_nodes", kField<&RoleTemplate::arguments_of_several_nodes, read_texts>},
    {"arguments_unless_set", kField<&RoleTemplate::arguments_unless_set, read_texts>},
    {"listens", kField<&RoleTemplate::listens, read_yes_or_no>},
    {"label", kField<&RoleTemplate::label, read_text>},
    {"unranked", kField<&RoleTemplate::is_unranked, read_yes_or_no>},
    {"working_directory", kField<&RoleTemplate::working_directory, read_text>},
    {"log", kField<&RoleTemplate::log, read_text>},
    {"joins_streams", kField<&RoleTemplate::joins_streams, read_yes_or_no>},
    {"error_file", kField<&RoleTemplate::error_file, read_text>},
});

Result<RoleTemplate> read_role(const json::value& value, const std::string& path, const Place& place) {
  const json::object& object = *TRY(read_members(value, path, place, "must have the fields of a role"));
  RoleTemplate role;
  TRY(read_fields(role, object, kRoleFields, path, place));
  if (role.name.empty() || role.name.find_first_of("/:=,{}") != std::string::npos) {
    return place.error(path, "needs a name that can be part of a file's name");
  }
  if (role.is_unranked && role.label.empty()) {
    return place.error(path + "/unranked", "needs a 'label', by which its processes are called");
  }
  return role;
}

constexpr auto kParameterFields = std::to_array<FieldRow<Parameter>>({
    {"name", kField<&Parameter::name, read_text>},
    {"default", kField<&Parameter::otherwise, read_text>},
    {"variables", kField<&Parameter::variables, read_texts>},
    {"finds", kField<&Parameter::finds_rank_table, read_fixed_text<"rank table">>},
    {"is", kField<&Parameter::is_log_dir, read_fixed_text<"log folder">>},
    {"integer", kField<&Parameter::is_integer, read_yes_or_no>},
});

Result<Parameter> read_parameter(const json::value& value, const std::string& path, const Place& place) {
  const json::object& object = *TRY(read_members(value, path, place, "must have a name"));
  Parameter parameter;
  TRY(read_fields(parameter, object, kParameterFields, path, place));
  const auto is_of_a_name = [](char c) { return c == '_' || (c >= 'a' && c <= 'z'); };
  if (parameter.name.empty() || !std::ranges::all_of(parameter.name, is_of_a_name)) {
    return place.error(path, "needs a name of small letters and underscores");
  }
  const bool is_wrong = parameter.is_integer && !parameter.otherwise.empty() &&
                        parameter.otherwise.find_first_not_of("-0123456789") != std::string::npos;
  if (is_wrong) {
    return place.error(path + "/default", "must be an integer");
  }
  const auto& taken = placeholder_names();
  if (contains(taken, parameter.name)) {
    return place.error(path + "/name", "is a placeholder already");
  }
  return parameter;
}

/// Reads all parameters; their names must differ, and become placeholders.
Result<std::vector<Parameter>> read_parameters(const json::object& root, Place& place) {
  auto parameters = TRY(read_list(root, "parameters", place, read_parameter));
  for (const Parameter& parameter : parameters) {
    if (!place.parameters.insert(parameter.name).second) {
      return place.error("/parameters", "names '" + parameter.name + "' twice");
    }
  }
  return parameters;
}

/// The placeholders {endpoints:ROLE} of the roles that do not listen on ports of their own.
std::set<std::string> placeholders_without_listener(const std::vector<RoleTemplate>& roles) {
  std::set<std::string> names;
  for (const RoleTemplate& role : roles) {
    if (!role.listens) {
      names.insert(std::string(kEndpointsOf) + ":" + role.name);
    }
  }
  return names;
}

/// {endpoint} and {endpoints:ROLE} need a role that listens on ports of its own. `without_listener`: placeholders whose
/// role does not.
Result<> check_listeners(const std::vector<std::string>& texts, bool listens,
                         const std::set<std::string>& without_listener, const std::string& path, const Place& place) {
  const std::set<std::string> used = used_placeholders(texts);
  if (!listens && used.contains("endpoint")) {
    return place.error(path, "uses {endpoint}, but it has no 'listens: true'");
  }
  for (const std::string& name : used) {
    if (without_listener.contains(name)) {
      return place.error(path, "uses {" + name + "}, but that role has no 'listens: true'");
    }
  }
  if (!without_listener.empty() && used.contains("task_config")) {
    return place.error(path, "uses {task_config}, but not every role has 'listens: true'");
  }
  return {};
}

/// Checks that need several fields.
Result<> check_together(const ModeTemplate& mode, const Place& place) {
  if (mode.name.empty()) {
    return place.error("/mode", "is missing or empty; it is the mode's name");
  }
  if (mode.roles.empty()) {
    return place.error("/roles", "is missing or empty; a mode starts at least one kind of process");
  }
  if (std::ranges::none_of(mode.roles, [](const RoleTemplate& role) {
        return role.decides_success && role.decides_only_without_role != role.name;
      })) {
    return place.error("/roles", "has no role that decides success");
  }
  const std::set<std::string> without_listener = placeholders_without_listener(mode.roles);
  std::set<std::string> names;
  for (std::size_t i = 0; i < mode.roles.size(); ++i) {
    const RoleTemplate& role = mode.roles[i];
    const std::string path = path_of("/roles", std::to_string(i));
    if (!names.insert(role.name).second) {
      return place.error(path, "has the name '" + role.name + "', as another role has");
    }
    TRY(check_listeners(texts_of(role), role.listens, without_listener, path, place));
  }
  for (std::size_t i = 0; i < mode.files.size(); ++i) {
    const std::string path = path_of("/files", std::to_string(i));
    const std::vector<std::string> texts = {mode.files[i].path, mode.files[i].content};
    TRY(check_listeners(texts, true, without_listener, path, place));
  }
  return {};
}

/// The names of the roles, read first because each role's texts may refer to all of them.
std::set<std::string> names_of_roles(const json::object& root) {
  std::set<std::string> names;
  for_each_object(array_of(root, "roles"), [&](const json::object& role) {
    const json::value* const name = role.if_contains("name");
    if (name != nullptr && name->is_string()) {
      names.emplace(name->get_string());
    }
  });
  return names;
}

/// A file is written once per node, so its text must not refer to a worker.
Result<> check_no_worker(const std::string& text, const std::string& path, const Place& place) {
  for (const char* const name : {"endpoint", "error_file", "global_rank", "local_rank", "role", "role_rank",
                                 "role_world_size", "task_config", "visible_local_rank"}) {
    const std::string placeholder = "{" + std::string(name) + "}";
    if (text.find(placeholder) != std::string::npos) {
      return place.error(path, "uses " + placeholder + ", which differs from worker to worker");
    }
  }
  return {};
}

constexpr auto kFileFields = std::to_array<FieldRow<FileTemplate>>({
    {"path", kField<&FileTemplate::path, read_text>},
    {"mode", kField<&FileTemplate::mode, read_text>},
    {"content", kField<&FileTemplate::content, read_text>},
    {"private", kField<&FileTemplate::is_private, read_yes_or_no>},
});

Result<FileTemplate> read_file(const json::value& value, const std::string& path, const Place& place) {
  const json::object& object = *TRY(read_members(value, path, place, "must have path, mode and content"));
  FileTemplate file;
  file.place = place.at(path);
  TRY(read_fields(file, object, kFileFields, path, place));
  TRY(check_no_worker(file.path, path + "/path", place));
  TRY(check_no_worker(file.content, path + "/content", place));
  const bool is_octal =
      file.mode.size() == 4 && file.mode.front() == '0' && file.mode.find_first_not_of("01234567") == std::string::npos;
  if (file.path.empty() || !is_octal) {
    return place.error(path, "needs a path, and a mode such as 0640");
  }
  return file;
}

}  // namespace

Result<ModeTemplate> read_template(const YamlDocument& document, std::string_view name) {
  Place place(document, name);
  if (!document.root.is_object()) {
    return place.error("", "must have the fields mode and roles");
  }
  static const std::vector<std::string> left_to_read = {"mode",     "parameters",       "roles", "files",
                                                        "services", "takes_given_port", "inputs"};
  const json::object& root = document.root.get_object();
  ModeTemplate mode;
  TRY(all_of({check_fields(root, left_to_read, "", place), read_field(mode.name, root, "/mode", place, read_text),
              read_field(mode.takes_given_port, root, "/takes_given_port", place, read_yes_or_no)}));
  mode.parameters = TRY(read_parameters(root, place));
  place.roles = names_of_roles(root);
  auto roles = TRY(read_list(root, "roles", place, read_role));
  auto files = TRY(read_list(root, "files", place, read_file));
  mode.roles = std::move(roles);
  mode.files = std::move(files);
  TRY(read_needs(mode, root, place));
  mode.digest = digest_of(json::serialize(document.root));
  TRY(check_together(mode, place));
  return mode;
}

}  // namespace muster
