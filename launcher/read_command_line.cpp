// Reads options with Boost.Program_options. It would look for options behind the program too, so
// the command line is cut there first.
#include "options.hpp"

#include <muster/base/text.hpp>
#include <muster/environment/marker.hpp>

#include <boost/program_options.hpp>

#include <algorithm>
#include <cctype>

namespace muster {
namespace {

namespace po = boost::program_options;

constexpr std::string_view kVariableStart = "MUSTER_";

/// Names are compared without what they all begin with: it would make each look like each.
std::optional<std::string> nearest_option(std::string_view typed) {
  std::vector<std::string> names;
  for (const Option& option : option_table()) {
    names.emplace_back(option.name);
  }
  return nearest_name(typed, names);
}

const Option* find_option(std::string_view name) {
  const auto table = option_table();
  const auto at = std::find_if(
      table.begin(), table.end(), [&](const Option& option) { return name == option.name; });
  return at == table.end() ? nullptr : &*at;
}

const Option* find_letter(char letter) {
  const auto table = option_table();
  const auto at = std::find_if(
      table.begin(), table.end(), [&](const Option& option) { return letter == option.letter; });
  return at == table.end() ? nullptr : &*at;
}

/// "--nproc_per_node=4" becomes "--nproc-per-node=4"; the value is left alone.
std::string with_dashes(const std::string& token) {
  std::string result = token;
  const auto end =
      result.begin() + static_cast<std::ptrdiff_t>(std::min(result.find('='), result.size()));
  std::replace(result.begin(), end, '_', '-');
  return result;
}

/// True when the option's value is the next token.
bool takes_next(const std::string& token) {
  if (token.starts_with("--")) {
    const Option* const option = find_option(token.substr(2));  // with "=value" it is not found
    return option != nullptr && option->argument != nullptr;
  }
  const Option* const option = token.size() == 2 ? find_letter(token[1]) : nullptr;
  return option != nullptr && option->argument != nullptr;
}

bool is_module_option(const std::string& token) {
  return token.starts_with("-m") || token == "--module" || token.starts_with("--module=");
}

/// The tokens before the program, and the program with its arguments.
struct Cut {
  std::vector<std::string> options;
  std::vector<std::string> program;
};

Cut cut(std::span<const std::string> tokens) {
  Cut result;
  std::size_t i = 0;
  for (bool is_done = false; i < tokens.size() && !is_done; ++i) {
    if (tokens[i] == "--") {
      ++i;
      break;
    }
    if (tokens[i].size() < 2 || tokens[i].front() != '-') {
      break;
    }
    const std::string token = tokens[i].starts_with("--") ? with_dashes(tokens[i]) : tokens[i];
    result.options.push_back(token);
    if (takes_next(token) && i + 1 < tokens.size()) {
      result.options.push_back(tokens[++i]);
    }
    is_done = is_module_option(token);  // what follows are the module's arguments
  }
  result.program.assign(tokens.begin() + static_cast<std::ptrdiff_t>(i), tokens.end());
  return result;
}

po::options_description describe_options() {
  po::options_description all;
  for (const Option& option : option_table()) {
    const std::string names =
        std::string(option.name) + (option.letter != '\0' ? std::string(",") + option.letter : "");
    if (option.argument != nullptr) {
      all.add_options()(names.c_str(), po::value<std::string>());
    } else {
      all.add_options()(names.c_str(), "");
    }
  }
  return all;
}

Error unknown_option(const std::string& typed) {
  const std::string shown =
      typed.starts_with('-') ? typed.substr(0, typed.find('=')) : "--" + typed;
  const auto nearest =
      nearest_option(shown.substr(std::min(shown.find_first_not_of('-'), shown.size())));
  return Error{ErrorKind::BadUsage,
               "unknown option '" + shown + "'" +
                   (nearest ? "; did you mean '--" + *nearest + "'?"
                            : "; 'muster --help' lists them, and a program that begins with a dash "
                              "goes behind '--'")};
}

Error syntax_error(const po::invalid_command_line_syntax& error) {
  using Syntax = po::invalid_command_line_syntax;
  const std::string name = error.get_option_name();
  switch (error.kind()) {
    case Syntax::missing_parameter:
    case Syntax::empty_adjacent_parameter:
      return Error{ErrorKind::BadUsage, name + " needs a value"};
    case Syntax::extra_parameter:
      return Error{ErrorKind::BadUsage, name + " is a switch and takes no value"};
    default:
      return Error{ErrorKind::BadUsage, name + " is not written correctly"};
  }
}

Result<> read_flags(const std::vector<std::string>& tokens, Settings& settings) {
  namespace style = po::command_line_style;
  constexpr int kStyle =
      static_cast<int>(style::unix_style) & ~static_cast<int>(style::allow_guessing);
  try {
    const po::options_description all = describe_options();
    const auto parsed = po::command_line_parser(tokens).options(all).style(kStyle).run();
    for (const auto& option : parsed.options) {
      const std::string name = "--" + option.string_key;
      settings.set(option.string_key, {option.value.empty() ? "1" : option.value.front(), name});
    }
  } catch (const po::unknown_option& error) {
    return unknown_option(error.get_option_name());
  } catch (const po::invalid_command_line_syntax& error) {
    return syntax_error(error);
  } catch (const po::error& error) {
    return Error{ErrorKind::BadUsage, error.what()};
  }
  return {};
}

std::string variable_name(std::string option) {
  std::transform(option.begin(), option.end(), option.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  return std::string(kVariableStart) + option;
}

Error unknown_variable(const std::string& name, const std::optional<std::string>& nearest) {
  return Error{ErrorKind::BadEnvironment,
               "unknown variable '" + name + "'" +
                   (nearest ? "; did you mean '" + variable_name(*nearest) + "'?"
                            : "; names that begin with MUSTER_ are options of muster")};
}

/// Kubernetes sets these in every pod beside a Service called "muster" or "muster-anything": its
/// host, its ports, and links such as tcp://10.0.0.1:80.
/// Source: https://kubernetes.io/docs/concepts/services-networking/service (environment variables).
bool is_of_a_service(const std::string& name, const std::string& value) {
  const bool is_link = value.starts_with("tcp://") || value.starts_with("udp://");
  return name.ends_with("_SERVICE_HOST") || name.find("_SERVICE_PORT") != std::string::npos ||
         name.find("_PORT_") != std::string::npos || is_link;
}

/// Our marker; the token, for which there is no flag since command lines are public; and what others
/// mean by a name of ours: images say which version they hold.
bool is_no_option(const std::string& name, const std::string& value) {
  return name == kMarkerVariable || name == "MUSTER_TOKEN" || name == "MUSTER_VERSION" ||
         is_of_a_service(name, value);
}

/// MUSTER_NPROC_PER_NODE is --nproc-per-node. A flag wins over its variable.
Result<> read_own_variable(const std::string& variable,
                           const std::string& value,
                           Settings& settings) {
  std::string name = variable.substr(kVariableStart.size());
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(c));
  });
  const Option* const option = find_option(name);
  if (option == nullptr) {
    return unknown_variable(variable, nearest_option(name));
  }
  if (option->argument == nullptr && value != "0" && value != "1") {
    return wrong_value({value, variable}, "0 or 1");
  }
  if (!settings.has(name)) {
    settings.set(name, {value, variable});
  }
  return {};
}

Result<> read_own_variables(const Snapshot& snapshot, Settings& settings) {
  for (const auto& [variable, value] : snapshot.variables) {
    if (!variable.starts_with(kVariableStart) || is_no_option(variable, value)) {
      continue;
    }
    if (auto read = read_own_variable(variable, value, settings); !read) {
      return read;
    }
  }
  return {};
}

}  // namespace

Result<CommandLine> read_command_line(std::span<char* const> argv, const Snapshot& snapshot) {
  CommandLine line;
  std::vector<std::string> tokens;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    tokens.emplace_back(argv[i]);
  }
  std::span<const std::string> rest(tokens);
  if (!tokens.empty()) {
    const std::string& first = tokens.front();
    line.command = first == "plan"      ? Command::Plan
                   : first == "explain" ? Command::Explain
                                        : Command::Run;
    rest = rest.subspan(first == "plan" || first == "explain" || first == "run" ? 1 : 0);
  }
  Cut parts = cut(rest);
  if (auto read = read_flags(parts.options, line.settings); !read) {
    return read.error();
  }
  if (auto read = read_own_variables(snapshot, line.settings); !read) {
    return read.error();
  }
  line.program = std::move(parts.program);
  return line;
}

bool is_on(const Settings& settings, std::string_view name) {
  const auto setting = settings.find(name);
  return setting && setting->value != "0";
}

}  // namespace muster
