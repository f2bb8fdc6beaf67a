// Reads the words of another launcher's command line, and its variables.
#include "tokens.hpp"

#include "python_integer.hpp"

#include <muster/base/text.hpp>
#include <muster/options/syntax.hpp>

#include <algorithm>
#include <array>
#include <cctype>

namespace muster {
namespace {

/// What muster has of its own beside the options of a front end, which says what the program is.
const Option* find_own(const OptionTable* own, const std::string& name) {
  static constexpr std::array<std::string_view, 2> kDecided = {"module", "no-python"};
  const bool is_decided = std::find(kDecided.begin(), kDecided.end(), name) != kDecided.end();
  return is_decided || own == nullptr ? nullptr : own->find(name);
}

/// One option as it was typed, found in one of the two tables.
struct Typed {
  std::string name;  ///< with dashes
  std::string source;
  std::size_t arguments = 0;
  const FrontOption* option = nullptr;  ///< nullptr: muster's own
  std::optional<std::string> inline_value;
};

std::size_t count_arguments(const char* argument) {
  return argument == nullptr ? 0 : split(argument, ' ').size();
}

/// Python's argparse reads the command lines of most originals.
bool is_argparse(const FrontEnd& front_end) {
  return !front_end.takes_single_dashes;
}

/// The options that begin with what was typed: argparse takes that for the option if it is only one.
std::vector<const FrontOption*> find_abbreviated(const FrontEnd& front_end,
                                                 const std::string& beginning) {
  std::vector<const FrontOption*> found;
  for (const FrontOption& option : front_end.options()) {
    if (is_argparse(front_end) && dashed(option.name).starts_with(beginning)) {
      found.push_back(&option);
    }
  }
  return found;
}

/// As it was typed, without the dashes in front and what stands behind "=".
std::string name_in(const std::string& token) {
  const std::size_t start = token.find_first_not_of('-');
  return start == std::string::npos ? "" : dashed(token.substr(start, token.find('=') - start));
}

std::optional<Typed> find_long(const FrontEnd& front_end,
                               const OptionTable* own_options,
                               const std::string& token) {
  const std::size_t equals = token.find('=');
  Typed typed;
  typed.source = token.substr(0, equals);
  typed.name = dashed(typed.source.substr(token.starts_with("--") ? 2 : 1));
  if (equals != std::string::npos) {
    typed.inline_value = token.substr(equals + 1);
  }
  if (typed.name == kPrintOptions && own_options != nullptr) {
    return typed;
  }
  for (const FrontOption& option : front_end.options()) {
    if (typed.name == dashed(option.name)) {
      typed.arguments = count_arguments(option.argument);
      typed.option = &option;
      return typed;
    }
  }
  if (const Option* const own = find_own(own_options, typed.name)) {
    typed.arguments = own->argument == nullptr ? 0 : 1;
    return typed;
  }
  const auto abbreviated = find_abbreviated(front_end, typed.name);
  if (abbreviated.size() != 1) {
    return std::nullopt;
  }
  typed.option = abbreviated.front();
  typed.name = dashed(typed.option->name);
  typed.arguments = count_arguments(typed.option->argument);
  return typed;
}

/// "-r", "-r3" and "-r=3".
std::optional<Typed> find_short(const FrontEnd& front_end,
                                const OptionTable* own_options,
                                const std::string& token) {
  Typed typed;
  for (const FrontOption& option : front_end.options()) {
    if (token[1] == option.letter) {
      typed.name = dashed(option.name);
      typed.arguments = count_arguments(option.argument);
      typed.option = &option;
    }
  }
  if (typed.name.empty()) {
    const Option* const letter =
        own_options == nullptr ? nullptr : own_options->find_letter(token[1]);
    const Option* const own = letter == nullptr ? nullptr : find_own(own_options, letter->name);
    if (own == nullptr) {
      return std::nullopt;
    }
    typed.name = own->name;
    typed.arguments = own->argument == nullptr ? 0 : 1;
  }
  typed.source = "--" + typed.name;
  if (token.size() > 2) {
    typed.inline_value = token.substr(token[2] == '=' ? 3 : 2);
  }
  return typed;
}

std::optional<std::string> nearest_of(const FrontEnd& front_end,
                                      const std::string& typed,
                                      const OptionTable* own) {
  const std::string bare = name_in(typed);
  std::vector<std::string> names;
  for (const FrontOption& option : front_end.options()) {
    names.push_back(dashed(option.name));
  }
  const auto nearest = nearest_name(bare, names);
  if (!nearest) {
    const auto of_muster = own != nullptr ? own->nearest(bare) : std::nullopt;
    return of_muster && find_own(own, *of_muster) != nullptr ? of_muster : std::nullopt;
  }
  const auto at = std::find(names.begin(), names.end(), *nearest) - names.begin();
  return front_end.options()[static_cast<std::size_t>(at)].name;
}

/// "--log" may be two of them, and which one is meant nobody knows.
std::optional<Error> find_ambiguity(const FrontEnd& front_end, const std::string& token) {
  const std::string beginning = name_in(token);
  const bool is_long = token.starts_with("--") && !beginning.empty();
  std::vector<std::string> names;
  for (const FrontOption* const option :
       is_long ? find_abbreviated(front_end, beginning) : std::vector<const FrontOption*>()) {
    names.push_back(std::string("--") + option->name);
  }
  if (names.size() < 2) {
    return std::nullopt;
  }
  return Error{ErrorKind::BadUsage,
               token.substr(0, token.find('=')) + " may be any of " + join(names, ", ")};
}

Error unknown_token(const FrontEnd& front_end, const std::string& token, const OptionTable* own) {
  if (auto ambiguity = find_ambiguity(front_end, token)) {
    return std::move(*ambiguity);
  }
  return unknown_option(token,
                        nearest_of(front_end, token, own),
                        std::string("'muster ") + front_end.name +
                            " --help' lists them, and a script that begins with a dash goes "
                            "behind '--'");
}

/// What argparse takes for a value: nothing that looks like an option.
bool is_value(const FrontEnd& front_end, const Typed& typed, const std::string& token) {
  const bool is_negative =
      token.find_first_not_of("0123456789.", 1) == std::string::npos && token.size() > 1;
  return !is_argparse(front_end) || typed.option == nullptr || !token.starts_with('-') ||
         token.size() == 1 || is_negative || token.find(' ') != std::string::npos;
}

/// The values of an option, of which the last token is tokens[i] afterwards.
Result<std::vector<std::string>> values_of(const FrontEnd& front_end,
                                           const Typed& typed,
                                           std::span<const std::string> tokens,
                                           std::size_t& i) {
  std::vector<std::string> values;
  if (typed.inline_value) {
    values.push_back(*typed.inline_value);
  }
  if (values.size() > typed.arguments) {
    return Error{ErrorKind::BadUsage, typed.source + " is a switch and takes no value"};
  }
  while (values.size() < typed.arguments && i + 1 < tokens.size() &&
         is_value(front_end, typed, tokens[i + 1])) {
    values.push_back(tokens[++i]);
  }
  if (values.size() < typed.arguments) {
    return Error{ErrorKind::BadUsage,
                 typed.source + (typed.arguments > 1 ? " needs two values" : " needs a value")};
  }
  return values;
}

/// "--name", "-n"; "-name" where the original takes it so.
std::optional<Typed> find_option(const FrontEnd& front_end,
                                 const OptionTable* own,
                                 const std::string& token) {
  if (token.starts_with("--")) {
    return find_long(front_end, own, token);
  }
  if (!front_end.takes_single_dashes) {
    return find_short(front_end, own, token);
  }
  auto typed = find_long(front_end, nullptr, token);
  if (!typed && token.size() == 2) {
    typed = find_short(front_end, own, token);
  }
  if (typed) {
    typed->source = token;
  }
  return typed;
}

/// Numbers as Python reads them, in all that is counted; "1:04" has two.
std::string as_counted(const std::string& text) {
  std::vector<std::string> pieces = split(text, ':');
  for (std::string& piece : pieces) {
    piece = find_python_integer(piece).value_or(piece);
  }
  return join(pieces, ":");
}

/// Whether the value is a number, or may be one.
bool is_counted(const FrontOption& option) {
  static constexpr std::array<std::string_view, 3> kNumbers = {"N", "R", "PORT"};
  return option.argument != nullptr &&
         std::find(kNumbers.begin(), kNumbers.end(), option.argument) != kNumbers.end();
}

/// A number as muster reads it. Fails where there is none: a variable may be empty, and says nothing then.
Result<std::string> read_value(const FrontEnd& front_end,
                               const FrontOption& option,
                               const Sourced<std::string>& value) {
  if (!is_counted(option) || !is_argparse(front_end)) {
    return value.value;
  }
  if (value.value.empty() && value.source.kind == SourceKind::Flag) {
    return wrong_value(value, "a value");
  }
  return as_counted(value.value);
}

Result<> keep(Tokens& result,
              const FrontEnd& front_end,
              const Typed& typed,
              std::vector<std::string> values) {
  const std::string last = values.empty() ? "1" : values.back();
  if (typed.option == nullptr) {
    return set_option(result.own, typed.name, {last, from_flag(typed.source)});
  }
  auto value = read_value(front_end, *typed.option, {last, from_flag(typed.source)});
  if (!value) {
    return value.error();
  }
  result.given[typed.name] = {std::move(*value), from_flag(typed.source)};
  result.typed.push_back({typed.option, typed.name, typed.source, std::move(values)});
  return {};
}

/// The originals take the first "--" away wherever it is, so that scripts are started with
/// "torchrun script.py -- --its-own-option".
/// True when there was one.
bool drop_dashes(std::vector<std::string>& program, bool has_dashes_before) {
  const bool has_dashes_behind = !has_dashes_before && program.size() > 1 && program[1] == "--";
  if (has_dashes_behind) {
    program.erase(program.begin() + 1);
  }
  return has_dashes_before || has_dashes_behind;
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

std::string dashed(std::string_view name) {
  std::string result(name);
  std::replace(result.begin(), result.end(), '_', '-');
  return result;
}

Result<Tokens> read_tokens(const FrontEnd& front_end,
                           std::span<const std::string> tokens,
                           const OptionTable* own) {
  Tokens result;
  std::size_t i = 0;
  bool has_dashes = false;
  for (; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    if (token == "--") {
      has_dashes = true;
      ++i;
      break;
    }
    if (token.size() < 2 || token.front() != '-') {
      break;
    }
    auto typed = find_option(front_end, own, token);
    if (!typed) {
      return unknown_token(front_end, token, own);
    }
    auto values = values_of(front_end, *typed, tokens, i);
    if (!values) {
      return values.error();
    }
    if (auto kept = keep(result, front_end, *typed, std::move(*values)); !kept) {
      return kept.error();
    }
  }
  result.program.assign(tokens.begin() + static_cast<std::ptrdiff_t>(i), tokens.end());
  result.is_set_apart = drop_dashes(result.program, has_dashes);
  return result;
}

Result<> read_variables(const FrontEnd& front_end, const Snapshot& snapshot, Given& given) {
  if (front_end.variables == nullptr) {
    return {};
  }
  for (const FrontOption& option : front_end.options()) {
    const std::string name = dashed(option.name);
    const std::string variable = front_end.variables + variable_part(name);
    const auto value = snapshot.variable(variable);
    if (!value || !option.may_be_variable || given.contains(name)) {
      continue;
    }
    if (option.argument != nullptr) {
      given[name] = {*read_value(front_end, option, {*value, from_variable(variable)}),
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
