// Formats --help and the shell completions from a table of options.
#include "options/help_text.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace muster {
namespace {

/// Argument name of an option that takes a word, a file or a directory.
constexpr std::string_view kWordOrFile = "WHERE";

/// The bash case that completes an option with choices; empty for other options.
std::string bash_choices(const Option& option) {
  if (option.choices == nullptr) {
    return {};
  }
  return "    --" + std::string(option.name) + ") COMPREPLY=($(compgen -W '" + option.choices + "' -- \"$current\")" +
         (option.argument == kWordOrFile ? " $(compgen -f -- \"$current\")" : "") + "); return ;;\n";
}

/// The name of the shell function that completes a command.
std::string function_of(std::string command) {
  std::ranges::replace(command, '.', '_');
  return "_" + command;
}

/// The bash function for a command that is word `position` of the line. `begin` is the start of its body.
std::string bash_function(const std::string& function, const CompletedCommand& command, int position,
                          const std::string& begin) {
  std::string words;
  std::string with_choices;
  std::string with_value;
  for (const Option& option : command.options) {
    words += " --" + std::string(option.name);
    with_choices += bash_choices(option);
    if (option.argument != nullptr) {
      with_value += (with_value.empty() ? "--" : "|--") + std::string(option.name);
    }
  }
  if (!with_value.empty()) {
    with_value = "    " + with_value + ") COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n";
  }
  return function +
         "() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n" +
         begin + "  case $previous in\n" + with_choices +
         "    --log-dir) COMPREPLY=($(compgen -d -- \"$current\")); return ;;\n" + with_value +
         "  esac\n"
         "  if [[ $current == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W '" +
         words.substr(1) +
         "' -- \"$current\"))\n"
         "  elif ((COMP_CWORD == " +
         std::to_string(position) +
         ")); then\n"
         "    COMPREPLY=($(compgen -W '" +
         command.words +
         "' -- \"$current\") $(compgen -f -- \"$current\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "  fi\n"
         "}\n";
}

std::string bash_completion(const CompletedCommand& command, std::span<const CompletedCommand> inner) {
  const std::string function = function_of(command.name);
  std::string text = "# bash completion for " + command.name + "\n# SPDX-License-Identifier: Apache-2.0\n";
  std::string begin;
  for (const CompletedCommand& one : inner) {
    const std::string inner_function = function + function_of(one.name);
    text += bash_function(inner_function, one, 2, "");
    begin += "  if ((COMP_CWORD > 1)) && [[ ${COMP_WORDS[1]} == " + one.name + " ]]; then\n    " + inner_function +
             "\n    return\n  fi\n";
  }
  return text + bash_function(function, command, 1, begin) + "complete -o filenames -F " + function + " " +
         command.name + "\n";
}

/// The zsh action that completes an option's value.
std::string zsh_action(const Option& option) {
  const std::string argument(option.argument);
  if (option.choices != nullptr && argument == kWordOrFile) {
    return "{compadd -- " + std::string(option.choices) + "; _files}";
  }
  if (option.choices != nullptr) {
    return "(" + std::string(option.choices) + ")";
  }
  return argument == "FILE" ? "_files" : argument == "DIR" ? "_directories" : " ";
}

/// The _arguments call for these options; `last` completes the words after them.
std::string zsh_arguments(std::span<const Option> options, const std::string& last) {
  std::string text = "_arguments -s -S \\\n";
  for (const Option& option : options) {
    text += "  '--" + std::string(option.name) + "[";
    for (const char c : std::string_view(option.help)) {
      text += c == '\'' ? "'\\'" : std::string_view("[]\\").find(c) != std::string_view::npos ? "\\" : "";
      text += c;
    }
    text += "]";
    if (option.argument != nullptr) {
      text += ':';
      text += option.argument;
      text += ':';
      text += zsh_action(option);
    }
    text += "' \\\n";
  }
  return text + "  " + last + " '*::arguments:_normal'\n";
}

std::string zsh_completion(const CompletedCommand& command, std::span<const CompletedCommand> inner) {
  std::string text = "#compdef " + command.name + "\n# SPDX-License-Identifier: Apache-2.0\n";
  for (const CompletedCommand& one : inner) {
    const std::string words = "'1:command:(" + one.name + ")' '2:kind:(" + one.words + ")'";
    text += "if ((CURRENT > 2)) && [[ $words[2] == " + one.name + " ]]; then\n" + zsh_arguments(one.options, words) +
            "return\nfi\n";
  }
  return text + zsh_arguments(command.options, "'1:program:_files'");
}

}  // namespace

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (const std::string& word : split(text, ' ')) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) {
      lines.emplace_back();
    }
    lines.back() += (lines.back().empty() ? "" : " ") + word;
  }
  return lines;
}

std::string help_entry(const std::string& spelled, std::string_view help) {
  constexpr std::size_t kColumn = 30;
  constexpr std::size_t kWidth = 98;
  std::string text;
  std::string line = "  " + spelled;
  if (line.size() + 2 > kColumn) {
    text = line + "\n";
    line.clear();
  }
  for (const std::string& part : wrap(help, kWidth - kColumn)) {
    line.resize(kColumn, ' ');
    text += line;
    text += part;
    text += '\n';
    line.clear();
  }
  return text;
}

Result<std::string> completion_script(const Sourced<std::string>& shell, const CompletedCommand& command,
                                      std::span<const CompletedCommand> inner) {
  if (shell.value == "bash") {
    return bash_completion(command, inner);
  }
  if (shell.value == "zsh") {
    return zsh_completion(command, inner);
  }
  return wrong_value(shell, "bash or zsh");
}

}  // namespace muster
