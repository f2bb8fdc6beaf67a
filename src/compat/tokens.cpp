// Reads the words of another launcher's command line, and its variables.
#include "compat/tokens.hpp"

#include "base/display_text.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "options/help_text.hpp"
#include "options/syntax.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

/// Finds muster's own option, unless it is about the program: the other launcher has its own options for that.
const Option* find_own(const OptionTable* own, const std::string& name) {
  static constexpr std::array<std::string_view, 2> kDecided = {"module", "no-python"};
  const bool is_decided = contains(kDecided, name);
  return is_decided || own == nullptr ? nullptr : own->find(name);
}

/// One option as it was typed, found in muster's or the launcher's table.
struct Typed {
  std::string name;  ///< with dashes
  std::string source;
  std::size_t arguments = 0;
  const CompatOption* option = nullptr;  ///< nullptr: an option of muster
  std::optional<std::string> inline_value;
};

bool is_argparse(const CompatLauncher& compat) {
  return compat.syntax == Syntax::Argparse;
}

/// The options that begin with the typed name: argparse accepts the name if there is only one.
std::vector<const CompatOption*> find_abbreviated(const CompatLauncher& compat, const std::string& beginning) {
  std::vector<const CompatOption*> found;
  for (const CompatOption& option : compat.options()) {
    const bool is_long = is_argparse(compat) && !option.has_one_dash;
    if (is_long && dashed(option.name).starts_with(beginning)) {
      found.push_back(&option);
    }
  }
  return found;
}

/// The option itself, or if it is only another name, the option that it stands for.
const CompatOption& resolved(const CompatLauncher& compat, const CompatOption& option) {
  const CompatOption* const itself = first_of(compat.options(), [&](const CompatOption& one) {
    return option.same_as != nullptr && std::string_view(one.name) == option.same_as;
  });
  return itself == nullptr ? option : *itself;
}

void take(Typed& typed, const CompatLauncher& compat, const CompatOption& option) {
  typed.option = &resolved(compat, option);
  typed.name = dashed(typed.option->name);
  typed.arguments = option.argument == nullptr ? 0 : split(option.argument, ' ').size();
}

/// The name that was typed, without leading dashes, and without "=" and a value.
std::string name_in(const std::string& token) {
  const std::size_t start = token.find_first_not_of('-');
  return start == std::string::npos ? "" : dashed(token.substr(start, token.find('=') - start));
}

std::optional<Typed> find_long(const CompatLauncher& compat, const OptionTable* own_options, const std::string& token) {
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
  for (const CompatOption& option : compat.options()) {
    const bool is_spelled_so = !option.has_one_dash || !token.starts_with("--");
    if (is_spelled_so && typed.name == dashed(option.name)) {
      take(typed, compat, option);
      return typed;
    }
  }
  if (const Option* const own = find_own(own_options, typed.name)) {
    typed.arguments = own->argument == nullptr ? 0 : 1;
    return typed;
  }
  const auto abbreviated = find_abbreviated(compat, typed.name);
  if (abbreviated.size() != 1) {
    return std::nullopt;
  }
  take(typed, compat, *abbreviated.front());
  return typed;
}

/// The launcher's or muster's option with this letter; empty if there is none.
std::optional<Typed> find_letter(const CompatLauncher& compat, const OptionTable* own_options, char letter) {
  Typed typed;
  for (const CompatOption& option : compat.options()) {
    if (letter == option.letter) {
      take(typed, compat, option);
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

/// Finds a short option: "-r", "-r3" and "-r=3".
std::optional<Typed> find_short(const CompatLauncher& compat, const OptionTable* own_options,
                                const std::string& token) {
  auto typed = find_letter(compat, own_options, token[1]);
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

std::optional<std::string> nearest_of(const CompatLauncher& compat, const std::string& typed, const OptionTable* own) {
  const std::string bare = name_in(with_ascii_twins(typed));
  const auto names = mapped(compat.options(), [](const CompatOption& option) { return dashed(option.name); });
  const auto nearest = nearest_name(bare, names);
  if (!nearest) {
    const auto of_muster = own != nullptr ? own->nearest(bare) : std::nullopt;
    return of_muster && find_own(own, *of_muster) != nullptr ? of_muster : std::nullopt;
  }
  return first_of(compat.options(), [&](const CompatOption& one) { return dashed(one.name) == *nearest; })->name;
}

/// The error for a beginning that several options share, such as "--log".
std::optional<Error> find_ambiguity(const CompatLauncher& compat, const std::string& token) {
  const std::string beginning = name_in(token);
  const bool is_long = token.starts_with("--") && !beginning.empty();
  std::vector<std::string> names;
  for (const CompatOption* const option :
       is_long ? find_abbreviated(compat, beginning) : std::vector<const CompatOption*>()) {
    names.push_back(std::string("--") + option->name);
  }
  if (names.size() < 2) {
    return std::nullopt;
  }
  return Error{ErrorKind::BadUsage, token.substr(0, token.find('=')) + " may be any of " + join(names, ", ")};
}

/// True if argparse takes the token for a value: it must not look like an option.
bool is_value(const CompatLauncher& compat, const Typed& typed, const std::string& token) {
  const bool is_negative = token.find_first_not_of("0123456789.", 1) == std::string::npos && token.size() > 1;
  return !is_argparse(compat) || typed.option == nullptr || !token.starts_with('-') || token.size() == 1 ||
         is_negative || token.find(' ') != std::string::npos;
}

/// The values of an option. Moves `i` to its last token.
Result<std::vector<std::string>> values_of(const CompatLauncher& compat, const Typed& typed,
                                           std::span<const std::string> tokens, std::size_t& i) {
  std::vector<std::string> values;
  if (typed.inline_value) {
    values.push_back(*typed.inline_value);
  }
  if (values.size() > typed.arguments) {
    return Error{ErrorKind::BadUsage, typed.source + " is a switch and takes no value"};
  }
  while (values.size() < typed.arguments && i + 1 < tokens.size() && is_value(compat, typed, tokens[i + 1])) {
    values.push_back(tokens[++i]);
  }
  if (values.size() < typed.arguments) {
    return Error{ErrorKind::BadUsage, typed.source + (typed.arguments > 1 ? " needs two values" : " needs a value")};
  }
  return values;
}

/// True for "-np" if it is a long name, and no short option with its value.
bool is_long_behind_one_dash(const CompatLauncher& compat, const std::string& token) {
  const auto options = compat.options();
  return compat.syntax == Syntax::OpenMpi || std::ranges::any_of(options, [&](const CompatOption& option) {
           return option.has_one_dash && name_in(token) == dashed(option.name);
         });
}

/// Finds "--name" and "-n"; also "-name" if the original accepts it.
std::optional<Typed> find_option(const CompatLauncher& compat, const OptionTable* own, const std::string& token) {
  if (token.starts_with("--")) {
    return find_long(compat, own, token);
  }
  if (!is_long_behind_one_dash(compat, token)) {
    return find_short(compat, own, token);
  }
  auto typed = find_long(compat, nullptr, token);
  if (!typed && token.size() == 2) {
    typed = find_short(compat, own, token);
  }
  if (typed) {
    typed->source = token.substr(0, token.find('='));
  }
  return typed;
}

/// Finds an option behind the script: it must have the original's spelling, or it is the script's.
std::optional<Typed> find_option_behind(const CompatLauncher& compat, const std::string& token) {
  auto typed = find_option(compat, nullptr, token);
  const bool is_spelled_so =
      typed && (!token.starts_with("--") || typed->source == std::string("--") + typed->option->name);
  return is_spelled_so ? typed : std::nullopt;
}

Result<> keep(Tokens& result, const CompatLauncher& compat, const Typed& typed, std::vector<std::string> values) {
  const std::string last = values.empty() ? "1" : values.back();
  if (typed.option == nullptr) {
    return set_option(result.own, typed.name, {last, from_flag(typed.source)});
  }
  auto value = TRY(read_value(compat, *typed.option, {last, from_flag(typed.source)}));
  result.given[typed.name] = {std::move(value), from_flag(typed.source)};
  result.typed.push_back({typed.option, typed.name, typed.source, std::move(values)});
  return {};
}

bool is_option(const std::string& token) {
  return token.size() > 1 && token.front() == '-';
}

/// Fails if the program's name is an option that lacks its dashes.
Result<> check_program(const Tokens& read, const CompatLauncher& compat, const OptionTable* own) {
  if (read.program.empty() || read.is_set_apart) {
    return {};
  }
  const auto find_name = [&](const std::string& typed) -> std::optional<std::string> {
    const CompatOption* const found = first_of(compat.options(), [&](const CompatOption& option) {
      return option.argument != nullptr && dashed(option.name) == typed;
    });
    return found != nullptr                  ? std::optional<std::string>(found->name)
           : find_own(own, typed) != nullptr ? std::optional(typed)
                                             : std::nullopt;
  };
  return check_is_no_option(read.program.front(), "the program", find_name);
}

/// Finds an option before the program's name, or behind it. Empty if the token is no option, or an unknown one.
std::optional<Typed> find_typed(const CompatLauncher& compat, const OptionTable* own, const std::string& token,
                                bool is_behind) {
  if (!is_option(token)) {
    return std::nullopt;
  }
  return is_behind ? find_option_behind(compat, token) : find_option(compat, own, token);
}

/// Reads one token, with the values of an option. False: this token and all behind it belong to the program.
Result<bool> take_token(Tokens& result, const CompatLauncher& compat, const OptionTable* own,
                        std::span<const std::string> tokens, std::size_t& i) {
  const std::string& token = tokens[i];
  const bool is_behind = !result.program.empty() || std::ranges::any_of(result.typed, [](const TypedOption& typed) {
    return typed.option->names_program;
  });
  if (const auto typed = find_typed(compat, own, token, is_behind)) {
    TRY(keep(result, compat, *typed, TRY(values_of(compat, *typed, tokens, i))));
    return true;
  }
  if ((is_option(token) || looks_like_option(token)) && !is_behind) {
    if (auto ambiguity = find_ambiguity(compat, token)) {
      return std::move(*ambiguity);
    }
    if (auto taken = find_taken_script(tokens.first(i))) {
      return std::move(*taken);
    }
    return unknown_option(
        token, nearest_of(compat, token, own),
        "'muster " + command_of(compat) + " --help' lists them, and a script that begins with a dash goes after '--'");
  }
  if (compat.syntax != Syntax::Click) {
    return false;
  }
  result.program.push_back(token);
  return true;
}

}  // namespace

std::string dashed(std::string_view name) {
  std::string result(name);
  std::ranges::replace(result, '_', '-');
  return result;
}

Result<Tokens> read_tokens(const CompatLauncher& compat, std::span<const std::string> tokens, const OptionTable* own) {
  Tokens result;
  std::size_t i = 0;
  for (; i < tokens.size() && tokens[i] != "--"; ++i) {
    const auto taken = TRY(take_token(result, compat, own, tokens, i));
    if (!taken) {
      break;
    }
  }
  // Takes the rest of the tokens, which holds no options. The originals remove the first "--" wherever it is, since
  // scripts are started with "torchrun script.py -- --its-own-option".
  const std::span<const std::string> rest = tokens.subspan(i);
  const bool is_in_front = !rest.empty() && rest.front() == "--";
  std::vector<std::string>& program = result.program;
  program.insert(program.end(), rest.begin() + (is_in_front ? 1 : 0), rest.end());
  const bool is_behind = !is_in_front && program.size() > 1 && program[1] == "--";
  if (is_behind) {
    program.erase(program.begin() + 1);
  }
  result.is_set_apart = is_in_front || is_behind;
  TRY(check_program(result, compat, own));
  return result;
}

Result<Tokens> read_words_of(const CompatLauncher& compat, const Sourced<std::string>& text,
                             std::span<const std::string> words, const std::string& expected) {
  auto read = read_tokens(compat, words, nullptr);
  if (!read) {
    return Error{error_kind(text.source), text.source.name + ": " + read.error().message};
  }
  if (!read->program.empty()) {
    return wrong_value(text, expected);
  }
  for (auto& [name, value] : read->given) {
    value.source = part_of(text.source, " " + value.source.name);
  }
  return read;
}

}  // namespace muster
