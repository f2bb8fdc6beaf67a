// The wrappers that are known by name, and which of their words are their own.
#include "compat/wrappers.hpp"

#include "compat/known_launchers.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

using Strings = std::span<const std::string>;

struct Wrapper {
  std::string_view name;
  std::string_view command;      ///< which of its commands runs another; empty: it has none
  std::string_view values = {};  ///< options whose value is the next word, between blanks
  int operands = 0;              ///< words in front of the program
  bool is_python = false;        ///< it runs Python's scripts, and -m, itself
};

/// Source: their manual pages.
constexpr auto kWrappers = std::to_array<Wrapper>({
    {"env", "", " -u -C "},
    {"timeout", "", " -k -s ", 1},
    {"nice", "", " -n "},
    {"ionice", "", " -c -n "},
    {"nohup", ""},
    {"setsid", ""},
    {"time", "", " -f -o "},
    {"stdbuf", "", " -i -o -e "},
    {"taskset", "", "", 1},
    {"numactl", "", " -N -m -i -C -p -P -w "},
    {"catchsegv", ""},
    {"chrt", "", "", 1},
    {"sudo", "", " -u -g -h -p -C "},
    {"strace", "", " -e -o -p -s -a -u -P "},
    {"perf", "record", " -e -F -o -c -C "},
    {"py-spy", "record", " -o -r -f -d -p "},
    {"gdb", "--args"},
    {"cuda-gdb", "--args"},
    {"tini", "", " -p -e "},
    {"dumb-init", "", " -r "},
    {"nsys", "profile", " -o -t -s -c -w -e -p -y -d -b -f -x -n -k "},
    {"uv", "run", " -p -w ", 0, true},
    {"poetry", "run"},
    {"conda", "run", " -n -p "},
    {"mamba", "run", " -n -p "},
    {"pipenv", "run"},
    {"pixi", "run", " -e "},
    {"pdm", "run", " -p "},
    {"hatch", "run"},
    {"singularity", "exec", " -B -H -W ", 1},
    {"apptainer", "exec", " -B -H -W ", 1},
    {"coverage", "run", "", 0, true},
});

const Wrapper* find_wrapper(Strings words) {
  const auto at = std::find_if(kWrappers.begin(), kWrappers.end(), [&](const Wrapper& one) {
    return !words.empty() && base_name(words[0]) == one.name &&
           (one.command.empty() || (words.size() > 1 && words[1] == one.command));
  });
  return at == kWrappers.end() ? nullptr : &*at;
}

bool is_script(const std::string& word) {
  return word.ends_with(".py");
}

/// One that could be no value of an option.
bool is_program(Strings words) {
  return !words.empty() && (is_python(words[0]) || is_script(words[0]) ||
                            line_instead_of(base_name(words[0]), words.subspan(1)));
}

/// The value of --option is the next word if the program that is looked for stands right behind it.
bool takes_next(const Wrapper& wrapper, Strings words) {
  const std::string& option = words[0];
  if (!option.starts_with("--")) {
    return wrapper.values.find(" " + option + " ") != std::string_view::npos;
  }
  const auto place = 1 + static_cast<std::size_t>(wrapper.operands);
  return option.find('=') == std::string::npos && words.size() > place + 1 &&
         !is_program(words.subspan(place)) && is_program(words.subspan(place + 1));
}

bool is_option(const std::string& word) {
  return word.size() > 1 && word.front() == '-';
}

/// How many words at the beginning are an option, with its value.
std::size_t count_option(const Wrapper& wrapper, Strings words) {
  const bool is_one = is_option(words[0]) && !(wrapper.is_python && words[0] == "-m");
  const bool is_variable = wrapper.name == "env" && words[0].find('=') != std::string::npos;
  if (is_one && takes_next(wrapper, words)) {
    return 2;
  }
  return is_one || is_variable ? 1 : 0;
}

/// Where the program stands, or behind the end.
std::size_t skip_own_words(const Wrapper& wrapper, Strings words) {
  int operands = wrapper.operands;
  std::size_t at = wrapper.command.empty() ? 1 : 2;
  while (at < words.size() && words[at] != "--") {
    const std::size_t count = count_option(wrapper, words.subspan(at));
    if (count == 0 && operands-- <= 0) {
      return at;
    }
    at += std::max<std::size_t>(count, 1);
  }
  return at + 1;
}

}  // namespace

Wrapped without_wrappers(Strings words) {
  for (const Wrapper* wrapper = find_wrapper(words); wrapper != nullptr;
       wrapper = find_wrapper(words)) {
    const std::size_t at = std::min(skip_own_words(*wrapper, words), words.size());
    const bool is_for_python =
        wrapper->is_python && at < words.size() && (is_script(words[at]) || words[at] == "-m");
    if (is_for_python) {
      return {words.subspan(at - 1), true};
    }
    words = words.subspan(at);
  }
  return {words, false};
}

}  // namespace muster
