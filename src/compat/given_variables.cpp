// Reads what options say: numbers as Python has them, and variables that stand for options.
#include "compat/python_integer.hpp"
#include "compat/tokens.hpp"

#include "base/text.hpp"
#include "options/syntax.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace muster {
namespace {

/// Numbers as Python reads them, in all that is counted; "1:04" has two.
std::string as_counted(const std::string& text) {
  std::vector<std::string> pieces = split(text, ':');
  for (std::string& piece : pieces) {
    piece = find_python_integer(piece).value_or(piece);
  }
  return join(pieces, ":");
}

/// Whether the value is a number, or may be one.
bool is_counted(const CompatOption& option) {
  static constexpr std::array<std::string_view, 3> kNumbers = {"N", "R", "PORT"};
  return option.argument != nullptr &&
         std::find(kNumbers.begin(), kNumbers.end(), option.argument) != kNumbers.end();
}

/// A switch by variable: a number, as torchrun reads it, or a word.
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

/// "nproc-per-node" is NPROC_PER_NODE in a variable's name.
std::string variable_part(std::string_view option) {
  std::string part;
  for (const char c : option) {
    part += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return part;
}

}  // namespace

Result<std::string> read_value(const CompatLauncher& compat,
                               const CompatOption& option,
                               const Sourced<std::string>& value) {
  if (!is_counted(option) || compat.syntax == Syntax::OpenMpi) {
    return value.value;
  }
  if (value.value.empty() && value.source.kind == SourceKind::Flag) {
    return wrong_value(value, "a value");
  }
  return as_counted(value.value);
}

Result<> read_variables(const CompatLauncher& compat,
                        const Snapshot& snapshot,
                        Given& given,
                        std::vector<std::string>& notices) {
  if (compat.variables == nullptr) {
    return {};
  }
  for (const CompatOption& option : compat.options()) {
    const std::string name = dashed(option.name);
    const std::string variable = compat.variables + variable_part(name);
    const auto value = snapshot.variable(variable);
    const bool is_decided = given.contains(name) && !compat.variables_win;
    if (!value || !option.may_be_variable || is_decided) {
      continue;
    }
    if (given.contains(name)) {
      notices.push_back(variable + " is '" + *value + "' and wins over " +
                        given.at(name).source.name + ", as in " + original_of(compat));
    }
    if (option.argument != nullptr) {
      given[name] = {*read_value(compat, option, {*value, from_variable(variable)}),
                     from_variable(variable)};
      continue;
    }
    const auto is_on = read_switch({*value, from_variable(variable)});
    if (!is_on) {
      return is_on.error();
    }
    if (*is_on) {
      given[name] = {"1", from_variable(variable)};
    }
  }
  return {};
}

}  // namespace muster
