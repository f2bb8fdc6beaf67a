// Cuts the command line into options and program, and reads both.
#include "check_table.hpp"
#include "control.hpp"
#include "doctor.hpp"
#include "options.hpp"
#include "render.hpp"
#include "requests.hpp"
#include "token.hpp"

#include "compat/front_end.hpp"
#include "options/syntax.hpp"

#include <map>

namespace muster {
namespace {

/// True when the option's value is the next token.
bool takes_next(const OptionTable& table, const std::string& token) {
  if (token.starts_with("--")) {
    const Option* const option = table.find(token.substr(2));  // with "=value" it is not found
    return option != nullptr && option->argument != nullptr;
  }
  const Option* const option = token.size() == 2 ? table.find_letter(token[1]) : nullptr;
  return option != nullptr && option->argument != nullptr;
}

bool is_module_option(const std::string& token) {
  return token.starts_with("-m") || token == "--module" || token.starts_with("--module=");
}

/// The tokens before the program, and the program with its arguments.
struct SplitLine {
  std::vector<std::string> options;
  std::vector<std::string> program;
  bool may_be_front_end = true;  ///< false: the program was set apart, or is a module's arguments
  bool is_set_apart = false;     ///< by "--"
};

SplitLine cut(std::span<const std::string> tokens, const OptionTable& table) {
  SplitLine result;
  std::size_t i = 0;
  for (bool is_done = false; i < tokens.size() && !is_done; ++i) {
    if (tokens[i] == "--") {
      ++i;
      result.may_be_front_end = false;
      result.is_set_apart = true;
      break;
    }
    if (tokens[i].size() < 2 || tokens[i].front() != '-') {
      break;
    }
    const std::string token = tokens[i].starts_with("--") ? with_dashes(tokens[i]) : tokens[i];
    result.options.push_back(token);
    if (takes_next(table, token) && i + 1 < tokens.size()) {
      result.options.push_back(tokens[++i]);
    }
    is_done = is_module_option(token);  // what follows are the module's arguments
    result.may_be_front_end = !is_done;
  }
  result.program.assign(tokens.begin() + static_cast<std::ptrdiff_t>(i), tokens.end());
  return result;
}

/// The other launcher whose name the program is, if that is meant.
const CompatLauncher* compat_behind(const SplitLine& parts) {
  return parts.may_be_front_end && !parts.program.empty() ? find_front_end(parts.program.front())
                                                          : nullptr;
}

/// What the program surely has of its own, such as --help, is not spoken of.
void notice_own_options(CommandLine& line) {
  const OptionTable table = own_options();
  auto notice = describe_option_behind(
      line.program, "muster", [&](const std::string& typed) -> std::optional<std::string> {
        const Option* const option = table.find(typed);
        const bool is_ours = option != nullptr && std::string_view(option->section) != "Help";
        return is_ours ? std::optional<std::string>(option->name) : std::nullopt;
      });
  if (notice) {
    line.notices.push_back(std::move(*notice));
  }
}

/// There are no such commands: who tries them is told what to write.
Result<> check_first_word(const std::vector<std::string>& tokens) {
  if (tokens.empty() || (tokens.front() != "help" && tokens.front() != "version")) {
    return {};
  }
  return Error{ErrorKind::BadUsage,
               "'" + tokens.front() + "' is no command of muster; write 'muster --" +
                   tokens.front() + "', and put a program of that name behind '--'"};
}

/// What the first word asks for; nothing where it is no command.
std::optional<Command> command_of(const std::vector<std::string>& tokens) {
  static const std::map<std::string, Command> commands = {{"run", Command::Run},
                                                          {"plan", Command::Plan},
                                                          {"explain", Command::Explain},
                                                          {"check", Command::Check},
                                                          {"doctor", Command::Doctor},
                                                          {"token", Command::Token},
                                                          {"status", Command::Status},
                                                          {"stop", Command::Stop},
                                                          {"suspend", Command::Suspend},
                                                          {"render", Command::Render}};
  const auto found = tokens.empty() ? commands.end() : commands.find(tokens.front());
  return found == commands.end() ? std::nullopt : std::optional(found->second);
}

/// `muster render KIND [options] -- what stands behind muster`: MUSTER_* variables are not for it.
Result<> read_render_line(CommandLine& line, std::span<const std::string> tokens) {
  if (!tokens.empty() && !tokens.front().starts_with('-')) {
    line.settings.set(kRenderKind, {tokens.front(), from_flag(kRenderKind)});
    tokens = tokens.subspan(1);
  }
  SplitLine parts = cut(tokens, render_options());
  line.program = std::move(parts.program);
  return read_flags(parts.options, render_options(), line.settings);
}

/// `muster [plan|explain|run|check|doctor|token|status|stop|suspend|render] [options] program ...`, where the program may be another launcher's
/// name with its command line.
Result<> read_own_command_line(CommandLine& line,
                               const std::vector<std::string>& tokens,
                               const Snapshot& snapshot,
                               const ReadText& read_text) {
  if (auto checked = check_first_word(tokens); !checked) {
    return checked;
  }
  const auto command = command_of(tokens);
  const auto rest = std::span(tokens).subspan(command ? 1 : 0);
  line.command = command.value_or(Command::Run);
  if (line.command == Command::Render) {
    return read_render_line(line, rest);
  }
  if (line.command == Command::Check) {
    return read_check_line(line, rest);
  }
  if (line.command == Command::Doctor) {
    return read_doctor_line(line, rest);
  }
  if (line.command == Command::Token) {
    return read_token_line(line, rest);
  }
  if (is_control(line.command)) {
    return read_control_line(line, rest);
  }
  SplitLine parts = cut(rest, own_options());
  if (auto read = read_flags(parts.options, own_options(), line.settings); !read) {
    return read;
  }
  const CompatLauncher* const compat = compat_behind(parts);
  if (compat != nullptr) {
    const std::string called = "muster " + command_of(*compat);
    const CompatNames words{*compat, called, std::span(parts.program).subspan(1)};
    return read_front_end(line, words, own_options(), snapshot, read_text);
  }
  line.program = std::move(parts.program);
  if (!parts.is_set_apart) {
    notice_own_options(line);
  }
  return read_own_variables(snapshot.variables, own_options(), line.settings);
}

}  // namespace

Result<Settings> read_settings_of(std::span<const std::string> tokens) {
  Settings settings;
  const auto read = read_flags(cut(tokens, own_options()).options, own_options(), settings);
  return read ? Result<Settings>(std::move(settings)) : read.error();
}

Result<Settings> read_all_settings_of(std::span<const std::string> tokens) {
  auto settings = read_settings_of(tokens);
  const SplitLine parts = cut(tokens, own_options());
  const CompatLauncher* const compat = compat_behind(parts);
  if (!settings || compat == nullptr) {
    return settings;
  }
  CommandLine line;
  line.settings = *settings;
  const CompatNames words{*compat, command_of(*compat), std::span(parts.program).subspan(1)};
  return read_front_end(line, words, own_options(), Snapshot(), read_regular_file) ? line.settings
                                                                                   : settings;
}

Result<CommandLine> read_command_line(std::span<char* const> argv,
                                      const Snapshot& snapshot,
                                      const ReadText& read_text) {
  CommandLine line;
  line.words.assign(argv.begin(), argv.end());
  const std::vector<std::string> tokens(argv.begin() + (argv.empty() ? 0 : 1), argv.end());
  const std::string name = argv.empty() ? "" : argv.front();
  const auto compat = compat_of(name);
  if (!compat) {
    return compat.error();
  }
  const auto read =
      *compat != nullptr
          ? read_front_end(
                line, {**compat, command_of(**compat), tokens}, own_options(), snapshot, read_text)
          : read_own_command_line(line, tokens, snapshot, read_text);
  if (!read) {
    return read.error();
  }
  if (line.command == Command::Render || line.command == Command::Check ||
      line.command == Command::Doctor || line.command == Command::Token ||
      is_control(line.command)) {
    return line;
  }
  if (auto extra = read_run_method(line, snapshot); !extra) {
    return extra.error();
  }
  return line;
}

}  // namespace muster
