// Parses names of options, also misspelt ones, and MUSTER_* variables.
#include "options/syntax.hpp"

#include "base/display_text.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cctype>

namespace muster {
namespace {

constexpr std::string_view kVariableStart = "MUSTER_";

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kQuotes = "\"'";

/// The option that sets parameters of the mode.
constexpr std::string_view kParameterOption = "set";

Error unknown_variable(const std::string& name, const std::optional<std::string>& nearest) {
  return Error{ErrorKind::BadEnvironment,
               "unknown variable '" + name + "'" +
                   (nearest ? "; did you mean '" + std::string(kVariableStart) + variable_spelling(*nearest) + "'?"
                            : "; names that begin with MUSTER_ are options of muster")};
}

/// True for a MUSTER_* variable that is not an option. Kubernetes sets some in every pod for a Service called
/// "muster" or "muster-anything": its host, its ports, and links such as tcp://10.0.0.1:80. Source:
/// https://kubernetes.io/docs/concepts/services-networking/service (environment variables).
bool is_no_option(const OptionTable& table, const std::string& name, const std::string& value) {
  const auto& others = table.no_options;
  const bool is_link = value.starts_with("tcp://") || value.starts_with("udp://");
  return contains(others, name) || name.ends_with("_SERVICE_HOST") || name.find("_SERVICE_PORT") != std::string::npos ||
         name.find("_PORT_") != std::string::npos || is_link;
}

/// --mode and --template exclude each other: a flag for one of them overrides the variable of the other.
bool is_answered_by_flag(std::string_view name, const Settings& settings) {
  const char* const other = name == "mode" ? "template" : name == "template" ? "mode" : "";
  const auto setting = settings.find(other);
  return setting && setting->source.kind == SourceKind::Flag && setting->value != "auto";
}

/// MUSTER_NPROC_PER_NODE is --nproc-per-node. A flag overrides its variable.
Result<> read_own_variable(const std::string& variable, const std::string& value, const OptionTable& table,
                           Settings& settings) {
  std::string name = variable.substr(kVariableStart.size());
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return c == '_' ? '-' : static_cast<char>(std::tolower(c)); });
  const Option* const option = table.find(name);
  if (option == nullptr) {
    return unknown_variable(variable, table.nearest(name));
  }
  if (option->argument == nullptr && value != "0" && value != "1") {
    return wrong_value({value, from_option(variable)}, "0 or 1");
  }
  return settings.has(name) || is_answered_by_flag(name, settings)
             ? Result<>()
             : set_option(settings, name, {value, from_option(variable)});
}

/// Sets "NAME=VALUE" as the parameter NAME of the mode.
Result<> set_parameter(Settings& settings, std::string_view text, const Sourced<std::string>& whole) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return wrong_value(whole, "NAME=VALUE");
  }
  const std::string key = kParameterPrefix + std::string(text.substr(0, equals));
  if (whole.source.kind == SourceKind::Flag || !settings.has(key)) {
    settings.set(key, {std::string(text.substr(equals + 1)), whole.source});
  }
  return {};
}

/// The character for an escape sequence without its backslash; NUL for an unknown one.
char unescaped(std::string_view next) {
  constexpr std::string_view kThemselves = "\"'\\ \t\r\n";
  if (next == "n") {
    return '\n';
  }
  return next.empty() || kThemselves.find(next) == std::string_view::npos ? '\0' : next.front();
}

/// Reads the word at `at` and moves `at` behind it.
Result<std::string> read_word(const Sourced<std::string>& text, std::size_t& at) {
  std::string word;
  char quote = '\0';
  for (; at < text.value.size(); ++at) {
    const char c = text.value[at];
    const bool is_free = quote == '\0';
    if (is_free && kBlanks.find(c) != std::string_view::npos) {
      break;
    }
    if (c == quote || (is_free && kQuotes.find(c) != std::string_view::npos)) {
      quote = is_free ? c : '\0';
    } else if (c != '\\') {
      word += c;
    } else if (const char plain = unescaped(text.value.substr(++at, 1)); plain != '\0') {
      word += plain;
    } else {
      return wrong_value(text, "words as a shell takes them");
    }
  }
  return quote == '\0' ? Result<std::string>(std::move(word))
                       : wrong_value(text, "words as a shell takes them, with each quote closed");
}

/// True for an option joined with its number, such as mpirun's "np2".
bool is_with_number(std::string_view typed, std::string_view name) {
  if (!typed.starts_with(name)) {
    return false;
  }
  typed.remove_prefix(name.size());
  return typed.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

const Option* OptionTable::find(std::string_view name) const {
  return first_of(options, [&](const Option& option) { return name == option.name; });
}

const Option* OptionTable::find_letter(char letter) const {
  return first_of(options, [&](const Option& option) { return letter == option.letter; });
}

std::optional<std::string> OptionTable::nearest(std::string_view typed) const {
  for (const auto& [other, name] : other_names) {
    if (is_with_number(typed, other)) {
      return std::string(name);
    }
  }
  return nearest_name(typed, mapped(options, [](const Option& option) { return std::string(option.name); }));
}

std::string with_dashes(const std::string& token) {
  std::string result = token;
  const auto end = result.begin() + static_cast<std::ptrdiff_t>(std::min(result.find('='), result.size()));
  std::replace(result.begin(), end, '_', '-');
  return result;
}

Error unknown_option(const std::string& typed, const std::optional<std::string>& nearest, const std::string& help) {
  const std::string shown = typed.substr(0, typed.find('='));
  const bool has_other_blank = with_visible_blanks(shown) != shown;
  return Error{ErrorKind::BadUsage, "unknown option '" + with_visible_blanks(shown) + "'" +
                                        (has_other_blank ? ", with a blank as pages have it: type a space" : "") +
                                        describe_lookalike(shown, /*is_typed=*/true) +
                                        (nearest ? "; did you mean '--" + *nearest + "'?" : "; " + help)};
}

std::optional<Error> find_taken_script(std::span<const std::string> words) {
  for (std::size_t i = words.size(); i > 1; --i) {
    const std::string& option = words[i - 2];
    const std::string& word = words[i - 1];
    if (word.ends_with(".py") && option.starts_with('-') && option.find('=') == std::string::npos) {
      return Error{ErrorKind::BadUsage, "'" + with_visible_blanks(word) + "' was taken as the value of " + option +
                                            ": a shell variable between the two may be empty"};
    }
  }
  return std::nullopt;
}

bool looks_like_option(std::string_view word) {
  const std::string twin = with_ascii_twins(word);
  return !word.starts_with('-') && twin.size() > 1 && twin.front() == '-';
}

Result<> check_is_no_option(const std::string& word, std::string_view taken_for,
                            const std::function<std::optional<std::string>(const std::string& typed)>& find) {
  const std::size_t equals = word.find('=');
  const auto name = equals == std::string::npos ? std::nullopt : find(with_dashes(word).substr(0, equals));
  return !name ? Result<>()
               : Error{ErrorKind::BadUsage, "'" + word + "' is taken for " + std::string(taken_for) +
                                                "; for the option write '--" + *name + word.substr(equals) + "'"};
}

std::optional<std::string> describe_option_behind(
    std::span<const std::string> program, const std::string& whose,
    const std::function<std::optional<std::string>(const std::string& typed)>& find) {
  for (const std::string& token : program) {
    if (token == "--") {
      return std::nullopt;
    }
    const auto name = token.starts_with("--") ? find(with_dashes(token).substr(2, token.find('=') - 2)) : std::nullopt;
    if (name) {
      return "--" + *name + " stands after the program and belongs to it; options of " + whose +
             " go in front of the program";
    }
  }
  return std::nullopt;
}

Result<> set_option(Settings& settings, const std::string& name, const Sourced<std::string>& value) {
  if (name != kParameterOption) {
    settings.set(name, value);
    return {};
  }
  if (value.source.kind == SourceKind::Flag) {
    return set_parameter(settings, value.value, value);
  }
  for (const std::string& piece : split(value.value, ' ')) {
    TRY(piece.empty() ? Result<>() : set_parameter(settings, piece, value));
  }
  return {};
}

Result<std::vector<std::string>> split_words(const Sourced<std::string>& text) {
  std::vector<std::string> words;
  for (std::size_t at = text.value.find_first_not_of(kBlanks); at != std::string::npos;
       at = text.value.find_first_not_of(kBlanks, at)) {
    auto word = TRY(read_word(text, at));
    words.push_back(std::move(word));
  }
  return words;
}

std::string quoted_words(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) {
    text += text.empty() ? "\"" : " \"";
    for (const char c : word) {
      text += c == '"' || c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    }
    text += '"';
  }
  return text;
}

Result<> read_own_variables(const std::map<std::string, std::string>& variables, const OptionTable& table,
                            Settings& settings) {
  for (const auto& [variable, value] : variables) {
    if (!variable.starts_with(kVariableStart) || is_no_option(table, variable, value)) {
      continue;
    }
    TRY(read_own_variable(variable, value, table, settings));
  }
  return {};
}

}  // namespace muster
