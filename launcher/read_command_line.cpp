// Reads options with Boost.Program_options. It would look for options behind the program too, so
// the command line is cut there first.
#include "front_end.hpp"
#include "option_syntax.hpp"

#include <boost/program_options.hpp>

namespace muster {
namespace {

namespace po = boost::program_options;

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
  bool may_be_front_end = true;  ///< false: the program was set apart, or is a module's arguments
};

Cut cut(std::span<const std::string> tokens) {
  Cut result;
  std::size_t i = 0;
  for (bool is_done = false; i < tokens.size() && !is_done; ++i) {
    if (tokens[i] == "--") {
      ++i;
      result.may_be_front_end = false;
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
    result.may_be_front_end = !is_done;
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

Error unknown_own_option(const std::string& typed) {
  const std::string bare = typed.substr(std::min(typed.find_first_not_of('-'), typed.size()));
  return unknown_option(typed.starts_with('-') ? typed : "--" + typed,
                        nearest_option(bare.substr(0, bare.find('='))),
                        "'muster --help' lists them, and a program that begins with a dash goes "
                        "behind '--'");
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
      const std::string value = option.value.empty() ? "1" : option.value.front();
      if (auto set = set_option(settings, option.string_key, {value, name}); !set) {
        return set;
      }
    }
  } catch (const po::unknown_option& error) {
    return unknown_own_option(error.get_option_name());
  } catch (const po::invalid_command_line_syntax& error) {
    return syntax_error(error);
  } catch (const po::error& error) {
    return Error{ErrorKind::BadUsage, error.what()};
  }
  return {};
}

/// `muster [plan|explain|run] [options] program ...`, where the program may be another launcher's
/// name with its command line.
Result<> read_own_command_line(CommandLine& line,
                               const std::vector<std::string>& tokens,
                               const Snapshot& snapshot) {
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
    return read;
  }
  const FrontEnd* const front_end = parts.may_be_front_end && !parts.program.empty()
                                        ? find_front_end(parts.program.front())
                                        : nullptr;
  if (front_end != nullptr) {
    const std::string called = std::string("muster ") + front_end->name;
    return read_front_end(line, *front_end, called, std::span(parts.program).subspan(1), snapshot);
  }
  line.program = std::move(parts.program);
  return read_own_variables(snapshot, line.settings);
}

}  // namespace

Result<CommandLine> read_command_line(std::span<char* const> argv, const Snapshot& snapshot) {
  CommandLine line;
  const std::vector<std::string> tokens(argv.begin() + (argv.empty() ? 0 : 1), argv.end());
  const std::string name = argv.empty() ? "" : argv.front();
  const auto front_end = front_end_of(name);
  if (!front_end) {
    return front_end.error();
  }
  const auto read = *front_end != nullptr
                        ? read_front_end(line, **front_end, (*front_end)->name, tokens, snapshot)
                        : read_own_command_line(line, tokens, snapshot);
  if (!read) {
    return read.error();
  }
  if (auto extra = read_run_method(line, snapshot); !extra) {
    return extra.error();
  }
  return line;
}

bool is_on(const Settings& settings, std::string_view name) {
  const auto setting = settings.find(name);
  return setting && setting->value != "0";
}

bool asks_for_text(const Settings& settings) {
  return is_on(settings, "help") || is_on(settings, "version") || is_on(settings, "print-man") ||
         settings.has("print-completion") || settings.has(kPrintOptions);
}

}  // namespace muster
