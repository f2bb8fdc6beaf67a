// Which words of a command line are files where it is started, and where its arguments begin. Pure.
#include "compat/interpreters.hpp"
#include "compat/known_launchers.hpp"
#include "compat/wrappers.hpp"

#include "compat/program_files.hpp"

namespace muster {

ProgramFiles find_program_files(const std::vector<std::string>& program, bool is_python_added) {
  ProgramFiles files;
  const auto [words, is_for_python] = without_wrappers(program);
  if (words.empty()) {
    return files;
  }
  const std::size_t first = program.size() - words.size();
  if (!is_for_python && words.front().find('/') != std::string::npos) {
    files.words.push_back(first);
    files.arguments = first + 1;
  }
  if (is_python_added || is_for_python || is_python(words.front())) {
    const PythonRun run = read_python_words(words);
    if (!run.script.empty()) {
      files.words.push_back(program.size() - run.arguments.size() - 1);
    }
    files.arguments = program.size() - run.arguments.size();
    files.imports_from_here = !run.module.empty() || !run.code.empty();
  } else if (is_shell(base_name(words.front()))) {
    files.arguments.reset();
    if (const ShellWords shell = read_shell_words(words); shell.script > 0) {
      files.words.push_back(first + shell.script);
      files.arguments = first + shell.script + 1;
    }
  }
  return files;
}

}  // namespace muster
