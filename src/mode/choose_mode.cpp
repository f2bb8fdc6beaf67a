// Decides how the workers are started: the user's template, a mode by name, or the default.
#include "builtin_templates.hpp"

#include <muster/base/text.hpp>
#include <muster/mode/mode_template.hpp>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace muster {
namespace {

Result<ModeTemplate> read_builtin(const BuiltinTemplate& builtin) {
  const YamlDocument document{
      json::parse(json::string_view(builtin.json.data(), builtin.json.size())), {}};
  return read_template(document, builtin.name);
}

Result<ChosenMode> read_template_file(const Sourced<std::string>& path) {
  std::error_code ignored;  // what cannot be looked at cannot be read either
  if (!std::filesystem::is_regular_file(path.value, ignored)) {  // a pipe could keep us for ever
    return Error{ErrorKind::BadData,
                 path.source + " is '" + path.value + "', expected a template that can be read"};
  }
  std::ifstream file(path.value);
  std::ostringstream text;
  // Of an empty file, << takes nothing and calls that a failure.
  const bool is_empty = file.peek() == std::ifstream::traits_type::eof() && file.eof();
  if (!is_empty && !(file && text << file.rdbuf())) {
    return Error{ErrorKind::BadData,
                 path.source + " is '" + path.value + "', expected a template that can be read"};
  }
  const auto document = parse_yaml(text.str(), path.value);
  if (!document) {
    return document.error();
  }
  auto mode = read_template(*document, path.value);
  if (!mode) {
    return mode.error();
  }
  return ChosenMode{std::move(*mode), path.source};
}

}  // namespace

Result<ChosenMode> choose_mode(const Settings& settings, const Snapshot& snapshot) {
  (void)snapshot;
  if (const auto path = settings.find("template")) {
    return read_template_file(*path);
  }
  const auto setting = settings.find("mode");
  const auto wanted = setting && setting->value != "auto"
                          ? *setting
                          : Sourced<std::string>{"torchrun", setting ? setting->source : "default"};
  for (const BuiltinTemplate& builtin : builtin_templates()) {
    if (builtin.name == wanted.value) {
      auto mode = read_builtin(builtin);
      return mode ? Result<ChosenMode>(ChosenMode{std::move(*mode), wanted.source}) : mode.error();
    }
  }
  return wrong_value(wanted, "auto or one of " + join(mode_names(), ", "));
}

std::vector<std::string> mode_names() {
  std::vector<std::string> names;
  for (const BuiltinTemplate& builtin : builtin_templates()) {
    names.emplace_back(builtin.name);
  }
  return names;
}

}  // namespace muster
