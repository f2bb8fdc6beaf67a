// Reads numbers and variables as Python launchers do, drops stale variables, and translates host device numbers.
#include "compat/stale_variables.hpp"

#include "base/lists.hpp"
#include "base/text.hpp"
#include "compat/tokens.hpp"
#include "environment/accelerators.hpp"
#include "options/syntax.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace muster {
namespace {

/// True if the option's value is a number, or may be one.
bool is_counted(const CompatOption& option) {
  static constexpr std::array<std::string_view, 3> kNumbers = {"N", "R", "PORT"};
  return option.argument != nullptr && contains(kNumbers, option.argument);
}

/// Reads a switch from a variable: a number, as torchrun reads it, or a word.
Result<bool> read_switch(const Sourced<std::string>& variable) {
  if (variable.value == "true" || variable.value == "True") {
    return true;
  }
  if (variable.value == "false" || variable.value == "False") {
    return false;
  }
  const auto number = find_python_integer(variable.value);
  return number ? Result<bool>(*number != "0") : wrong_value(variable, "0, 1, true or false");
}

}  // namespace

Result<std::string> read_value(const CompatLauncher& compat, const CompatOption& option,
                               const Sourced<std::string>& value) {
  if (!is_counted(option) || compat.syntax == Syntax::OpenMpi) {
    return value.value;
  }
  if (value.value.empty() && value.source.kind == SourceKind::Flag) {
    return wrong_value(value, "a value");
  }
  // Rewrites each number of the text as Python reads it; "1:04" has two.
  std::vector<std::string> pieces = split(value.value, ':');
  for (std::string& piece : pieces) {
    piece = find_python_integer(piece).value_or(piece);
  }
  return join(pieces, ":");
}

namespace {

/// Adds a notice about a variable such as PET_NNODE, which nobody reads and which is nearly one of torchrun's. Other
/// prefixes also have variables that are no options.
void name_misspelled(const CompatLauncher& compat, const Snapshot& snapshot, std::vector<std::string>& notices) {
  const std::string prefix = compat.variables;
  const auto known =
      mapped(compat.options(), [](const CompatOption& option) { return variable_spelling(dashed(option.name)); });
  for (const auto& [variable, value] : snapshot.variables) {
    if (prefix != "PET_" || !variable.starts_with(prefix)) {
      continue;
    }
    const std::string name = variable.substr(prefix.size());
    const auto nearest = contains(known, name) ? std::nullopt : nearest_name(name, known);
    if (nearest) {
      std::string notice = "ignoring " + variable + ": " + original_of(compat);
      notice += " knows no such variable; did you mean " + prefix + *nearest + "?";
      notices.push_back(std::move(notice));
    }
  }
}

}  // namespace

Result<> read_variables(const CompatLauncher& compat, const Snapshot& snapshot, Given& given,
                        std::vector<std::string>& notices) {
  if (compat.variables == nullptr) {
    return {};
  }
  name_misspelled(compat, snapshot, notices);
  for (const CompatOption& option : compat.options()) {
    const std::string name = dashed(option.name);
    const std::string variable = compat.variables + variable_spelling(name);
    const auto value = snapshot.variable(variable);
    const bool is_decided = given.contains(name) && !compat.variables_win;
    if (!value || !option.may_be_variable || is_decided) {
      continue;
    }
    if (given.contains(name)) {
      notices.push_back(variable + " is '" + *value + "' and wins over " + given.at(name).source.name + ", as in " +
                        original_of(compat));
    }
    if (option.argument != nullptr) {
      given[name] = {*read_value(compat, option, {*value, from_variable(variable)}), from_variable(variable)};
      continue;
    }
    const auto is_on = TRY(read_switch({*value, from_variable(variable)}));
    if (is_on) {
      given[name] = {"1", from_variable(variable)};
    }
  }
  return {};
}

// Decides which variables describe the job, and which are left from another start.

namespace {

/// Variables that describe the nodes, and the option that means the same.
constexpr auto kVariables = std::to_array<std::pair<const char*, const char*>>({
    {"RANK", "node-rank"},
    {"NODE_RANK", "node-rank"},
    {"WORLD_SIZE", "nnodes"},
    {"NNODES", "nnodes"},
    {"NUM_NODES", "nnodes"},
    {"NODE_COUNT", "nnodes"},
    {"MASTER_ADDR", "master-addr"},
    {"MASTER_PORT", "master-port"},
    {"TF_CONFIG", ""},
    {"TF_PS_HOSTS", ""},
    {"TF_WORKER_HOSTS", ""},
});

/// Variables that contradict the command line. Many command lines use the variables themselves: then both agree.
std::vector<std::string> names_of_ignored(const Translation& t) {
  std::vector<std::string> names;
  for (const auto& [variable, option] : kVariables) {
    const auto value = t.snapshot.variable(variable);
    const auto translated = t.settings.find(option);
    const auto given = translated == t.settings.end() ? t.find(option) : std::optional(translated->second);
    if (value && !value->empty() && (!given || given->value != *value)) {
      names.emplace_back(variable);
    }
  }
  return names;
}

const char* describe_orphan(const BareSign& sign, bool is_about_nodes) {
  return is_about_nodes          ? "the command line says which nodes there are"
         : sign.is_list_of_tasks ? "it is for TensorFlow"
                                 : "what is there does not describe one of several nodes";
}

}  // namespace

std::string nodes_of(const Translation& t) {
  if (const auto given = t.settings.find("nnodes"); given != t.settings.end()) {
    return given->second.value;
  }
  const auto own = t.line.settings.find("nnodes");
  return own ? own->value : "";
}

std::optional<Sourced<std::string>> find_given(const Snapshot& snapshot, const char* variable) {
  const auto value = variable == nullptr ? std::nullopt : sourced_variable(snapshot, variable);
  return value && !value->value.empty() ? value : std::nullopt;
}

bool is_one(const std::string& nodes) {
  return nodes == "1" || nodes == "1:1";
}

void give_port_to_workers(Translation& t) {
  const auto port = t.settings.find("master-port");
  const bool is_named = t.is_whole && port != t.settings.end() && port->second.value != "0";
  if (is_named && !is_one(nodes_of(t)) && !t.line.settings.has("worker-port")) {
    t.set("worker-port", port->second);
  }
}

void drop_stale_variables(Translation& t, bool is_about_nodes) {
  const bool is_decided = t.line.settings.has("platform") || t.settings.contains("platform");
  const auto sign = t.is_whole && !is_decided ? find_bare_sign(t.snapshot, t.line.settings) : std::nullopt;
  // Tasks of TensorFlow are not nodes of torchrun, even if their description is complete.
  if (!sign || (!is_about_nodes && sign->is_whole && !sign->is_list_of_tasks)) {
    return;
  }
  const std::string original = t.line.compat == nullptr ? "torchrun" : original_of(*t.line.compat);
  if (const auto names = names_of_ignored(t); !names.empty()) {
    t.line.notices.push_back("ignoring " + join(names, ", ") + ": " + original + " does not read " +
                             (names.size() == 1 ? "it" : "them") + ", and " + describe_orphan(*sign, is_about_nodes));
  }
  const std::string nodes = nodes_of(t);
  t.set("platform", {nodes.empty() || is_one(nodes) ? "single" : "flags",
                     {SourceKind::Default, original + ", which does not read " + sign->source.name}});
}

// Turns device numbers of the host into indexes among the devices that this node shows.

namespace {

/// True if all names are numbers. Command lines of other launchers have no names such as GPU-5f1c.
bool are_numbers(const std::vector<std::string>& names) {
  return std::ranges::all_of(names, [](const std::string& name) {
    return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
  });
}

}  // namespace

std::vector<std::string> device_numbers(int count) {
  std::vector<std::string> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = std::to_string(i);
  }
  return numbers;
}

std::vector<std::string> shown_devices(const Snapshot& snapshot) {
  const DeviceMask mask = find_device_mask(snapshot);
  const bool is_list = mask.is_inherited && are_numbers(mask.devices);
  return is_list ? mask.devices : device_numbers(count_visible_devices(snapshot));
}

Result<Sourced<std::string>> places_of_devices(const std::vector<std::string>& names, const Sourced<std::string>& text,
                                               const Snapshot& snapshot) {
  const DeviceMask mask = find_device_mask(snapshot);
  if (!mask.is_inherited || !are_numbers(mask.devices)) {
    return Sourced<std::string>{join(names, ","), text.source};
  }
  std::vector<std::string> places;
  for (const std::string& name : names) {
    const auto at = std::ranges::find(mask.devices, name);
    if (at == mask.devices.end()) {
      return wrong_value(text, "devices that " + mask.variable + " shows, which are '" + join(mask.devices, ",") + "'");
    }
    places.push_back(std::to_string(at - mask.devices.begin()));
  }
  return Sourced<std::string>{join(places, ","), text.source};
}

// Source: https://docs.python.org/3/library/functions.html#int, for base 10 and ASCII digits.

std::optional<std::string> find_python_integer(std::string_view text) {
  std::string_view rest = trim(text);
  const bool is_negative = rest.starts_with('-');
  rest.remove_prefix(is_negative || rest.starts_with('+') ? 1 : 0);
  std::string digits;
  bool may_be_underscore = false;  // allowed between digits only
  for (const char c : rest) {
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && (c != '_' || !may_be_underscore)) {
      return std::nullopt;
    }
    digits += is_digit ? std::string(1, c) : "";
    may_be_underscore = is_digit;
  }
  if (!may_be_underscore) {
    return std::nullopt;
  }
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return (is_negative && digits != "0" ? "-" : "") + digits;
}

}  // namespace muster
