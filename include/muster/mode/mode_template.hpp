#pragma once

#include <muster/base/result.hpp>
#include <muster/base/yaml.hpp>
#include <muster/environment/settings.hpp>
#include <muster/environment/snapshot.hpp>

#include <string>
#include <utility>
#include <vector>

namespace muster {

/// How many processes of a role there are.
enum class RoleCount {
  PerJob,     ///< one, on the node with rank 0
  PerNode,    ///< one on each node
  PerDevice,  ///< one for each slot of each node
};

/// Text with {placeholders} by name, in the order of the template.
using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// One kind of process that a mode starts.
struct RoleTemplate {
  std::string name;
  RoleCount count = RoleCount::PerDevice;
  bool decides_success = true;
  NamedTexts environment;              ///< set always
  NamedTexts environment_unless_set;   ///< set when the variable is not inherited
  std::vector<std::string> unset;      ///< inherited variables that must not reach the process
  std::vector<std::string> arguments;  ///< appended to the program's own
  std::string error_file;              ///< where the process writes why it failed: {error_file}
};

/// A file to write before the processes start.
struct FileTemplate {
  std::string path;
  std::string mode = "0640";  ///< octal permissions
  std::string content;
};

/// How a framework wants its processes started: data, read from YAML. docs/templates.md describes
/// each field.
struct ModeTemplate {
  std::string name;
  std::vector<RoleTemplate> roles;
  std::vector<FileTemplate> files;
};

/// Reads a template from its document. Fails with `BadData`, naming `name`, the line and the field,
/// for a field that is unknown, missing or of the wrong kind, and for an unknown placeholder.
[[nodiscard]] Result<ModeTemplate> read_template(const YamlDocument& document,
                                                 std::string_view name);

/// The names of the placeholders that a template may use.
[[nodiscard]] const std::vector<std::string>& placeholder_names();

/// Which template to use and why.
struct ChosenMode {
  ModeTemplate mode;
  std::string source;  ///< what made the choice
};

/// The template of `--template`, else the built-in one that `--mode` names (auto: torchrun).
[[nodiscard]] Result<ChosenMode> choose_mode(const Settings& settings);

/// The names that `--mode` takes.
[[nodiscard]] std::vector<std::string> mode_names();

}  // namespace muster
