// Reads the words of another launcher's command line, and its variables.
#include "tokens.hpp"

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

bool is_argparse(const FrontEnd& front_end) {
  return front_end.syntax == Syntax::Argparse;
}

/// The options that begin with what was typed: argparse takes that for the option if it is only one.
std::vector<const FrontOption*> find_abbreviated(const FrontEnd& front_end,
                                                 const std::string& beginning) {
  std::vector<const FrontOption*> found;
  for (const FrontOption& option : front_end.options()) {
    const bool is_long = is_argparse(front_end) && !option.has_one_dash;
    if (is_long && dashed(option.name).starts_with(beginning)) {
      found.push_back(&option);
    }
  }
  return found;
}

/// The option itself, of which the one that was typed may be another name.
const FrontOption& resolved(const FrontEnd& front_end, const FrontOption& option) {
  if (option.same_as == nullptr) {
    return option;
  }
  const auto options = front_end.options();
  const auto itself = std::find_if(options.begin(), options.end(), [&](const FrontOption& one) {
    return std::string_view(one.name) == option.same_as;
  });
  return itself == options.end() ? option : *itself;
}

void take(Typed& typed, const FrontEnd& front_end, const FrontOption& option) {
  typed.option = &resolved(front_end, option);
  typed.name = dashed(typed.option->name);
  typed.arguments = count_arguments(option.argument);
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
    const bool is_spelled_so = !option.has_one_dash || !token.starts_with("--");
    if (is_spelled_so && typed.name == dashed(option.name)) {
      take(typed, front_end, option);
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
  take(typed, front_end, *abbreviated.front());
  return typed;
}

/// Of the front end, or muster's own. Empty: no option has that letter.
std::optional<Typed> find_letter(const FrontEnd& front_end,
                                 const OptionTable* own_options,
                                 char letter) {
  Typed typed;
  for (const FrontOption& option : front_end.options()) {
    if (letter == option.letter) {
      take(typed, front_end, option);
    }
  }
  if (!typed.name.empty()) {
    return typed;
  }
  const Option* const found = own_options == nullptr ? nullptr : own_options->find_letter(letter);
  const Option* const own = found == nullptr ? nullptr : find_own(own_options, found->name);
  if (own == nullptr) {
    return std::nullopt;
  }
  typed.name = own->name;
  typed.arguments = own->argument == nullptr ? 0 : 1;
  return typed;
}

/// "-r", "-r3" and "-r=3".
std::optional<Typed> find_short(const FrontEnd& front_end,
                                const OptionTable* own_options,
                                const std::string& token) {
  auto typed = find_letter(front_end, own_options, token[1]);
  if (!typed) {
    return std::nullopt;
  }
  const bool has_one_dash = typed->option != nullptr && typed->option->has_one_dash;
  typed->source = (has_one_dash ? "-" : "--") + typed->name;
  if (token.size() > 2) {
    typed->inline_value = token.substr(token[2] == '=' ? 3 : 2);
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
                        "'muster " + command_of(front_end) +
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

/// True for "-np" where that is no short option with its value.
bool is_long_behind_one_dash(const FrontEnd& front_end, const std::string& token) {
  const auto options = front_end.options();
  return front_end.syntax == Syntax::OpenMpi ||
         std::any_of(options.begin(), options.end(), [&](const FrontOption& option) {
           return option.has_one_dash && name_in(token) == dashed(option.name);
         });
}

/// "--name", "-n"; "-name" where the original takes it so.
std::optional<Typed> find_option(const FrontEnd& front_end,
                                 const OptionTable* own,
                                 const std::string& token) {
  if (token.starts_with("--")) {
    return find_long(front_end, own, token);
  }
  if (!is_long_behind_one_dash(front_end, token)) {
    return find_short(front_end, own, token);
  }
  auto typed = find_long(front_end, nullptr, token);
  if (!typed && token.size() == 2) {
    typed = find_short(front_end, own, token);
  }
  if (typed) {
    typed->source = token.substr(0, token.find('='));
  }
  return typed;
}

/// Behind the script an option has its original's spelling: with another one it is the script's.
std::optional<Typed> find_option_behind(const FrontEnd& front_end, const std::string& token) {
  auto typed = find_option(front_end, nullptr, token);
  const bool is_spelled_so = typed && (!token.starts_with("--") ||
                                       typed->source == std::string("--") + typed->option->name);
  return is_spelled_so ? typed : std::nullopt;
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

/// Reads the option at tokens[i], of which the last token is tokens[i] afterwards.
Result<> read_option(Tokens& result,
                     const FrontEnd& front_end,
                     const Typed& typed,
                     std::span<const std::string> tokens,
                     std::size_t& i) {
  auto values = values_of(front_end, typed, tokens, i);
  return values ? keep(result, front_end, typed, std::move(*values)) : values.error();
}

bool is_option(const std::string& token) {
  return token.size() > 1 && token.front() == '-';
}

/// True when an option that nobody knows is the program's.
bool is_program_named(const Tokens& result) {
  return !result.program.empty() ||
         std::any_of(result.typed.begin(), result.typed.end(), [](const TypedOption& typed) {
           return typed.option->names_program;
         });
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

/// All that no option is among.
void take_rest(Tokens& result, std::span<const std::string> rest) {
  const bool has_dashes = !rest.empty() && rest.front() == "--";
  result.program.insert(result.program.end(), rest.begin() + (has_dashes ? 1 : 0), rest.end());
  result.is_set_apart = drop_dashes(result.program, has_dashes);
}

/// Before the program's name, or behind it. Empty: the token is no option, or not known.
std::optional<Typed> find_typed(const FrontEnd& front_end,
                                const OptionTable* own,
                                const std::string& token,
                                bool is_behind) {
  if (!is_option(token)) {
    return std::nullopt;
  }
  return is_behind ? find_option_behind(front_end, token) : find_option(front_end, own, token);
}

/// With the values of an option. False: this one, and all behind it, are the program's.
Result<bool> take_token(Tokens& result,
                        const FrontEnd& front_end,
                        const OptionTable* own,
                        std::span<const std::string> tokens,
                        std::size_t& i) {
  const std::string& token = tokens[i];
  const bool is_behind = is_program_named(result);
  if (const auto typed = find_typed(front_end, own, token, is_behind)) {
    const auto read = read_option(result, front_end, *typed, tokens, i);
    return read ? Result<bool>(true) : Result<bool>(read.error());
  }
  if (is_option(token) && !is_behind) {
    return unknown_token(front_end, token, own);
  }
  if (front_end.syntax != Syntax::Click) {
    return false;
  }
  result.program.push_back(token);
  return true;
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
  for (; i < tokens.size() && tokens[i] != "--"; ++i) {
    const auto taken = take_token(result, front_end, own, tokens, i);
    if (!taken) {
      return taken.error();
    }
    if (!*taken) {
      break;
    }
  }
  take_rest(result, tokens.subspan(i));
  return result;
}

}  // namespace muster
