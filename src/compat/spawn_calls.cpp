// Searches line by line, without a grammar: a construct that is not understood hides a call, or shows one too many.
#include "compat/spawn_calls.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace muster {
namespace {

/// A function that starts processes; `nprocs` is their number.
struct Spawner {
  std::string_view package;
  std::string_view module;
  std::string_view function;
  bool starts_one_by_default;
};

/// Source: torch/multiprocessing/spawn.py; torch_xla/distributed/xla_multiprocessing.py;
/// paddle/distributed/spawn.py; the training samples of HAI.
constexpr auto kSpawners = std::to_array<Spawner>({
    {"hfai", "multiprocessing", "spawn", true},
    {"torch", "multiprocessing", "spawn", true},
    {"torch", "multiprocessing", "start_processes", true},
    {"torch_xla.distributed", "xla_multiprocessing", "spawn", false},
    {"paddle", "distributed", "spawn", false},
});

/// Names that only a worker of a launcher finds: a script that uses one of them knows launchers.
constexpr auto kOfLaunchers =
    std::to_array<std::string_view>({"LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "RANK", "WORLD_SIZE",
                                     "TORCHELASTIC_RUN_ID", "is_torchelastic_launched"});

bool is_in_name(char c) {
  return is_letter_or_digit(c) || c == '_';
}

/// Index of the word in the text, where it is not a part of a longer name.
std::size_t find_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_in_name(text[at - 1])) && (end == text.size() || !is_in_name(text[end]))) {
      return at;
    }
  }
  return std::string_view::npos;
}

/// The quote that is still open after `c`; '\0': none.
char quote_behind(char c, char before, char quote) {
  if (before == '\\') {
    return quote;
  }
  if (quote != '\0') {
    return c == quote ? '\0' : quote;
  }
  return c == '"' || c == '\'' ? c : '\0';
}

/// The code of a line, without its comment; quoted text becomes blanks.
std::string code_of(std::string_view line) {
  std::string code;
  char quote = '\0';
  char before = ' ';
  for (const char c : line) {
    const char last_quote = std::exchange(quote, quote_behind(c, before, quote));
    if (last_quote == '\0' && c == '#') {
      break;
    }
    code += last_quote != '\0' && quote != '\0' ? ' ' : c;
    before = c;
  }
  return code;
}

bool names_module(std::string_view code, const Spawner& spawner) {
  const std::string package(spawner.package);
  return find_word(code, package + "." + std::string(spawner.module)) != std::string_view::npos ||
         (code.find("from " + package + " import ") != std::string_view::npos &&
          find_word(code, spawner.module) != std::string_view::npos);
}

/// The number in "nprocs=8"; empty for other arguments.
std::string_view count_of(std::string_view argument) {
  const std::size_t equals = argument.find('=');
  const bool is_count = equals != std::string_view::npos && trim(argument.substr(0, equals)) == "nprocs";
  return is_count ? trim(argument.substr(equals + 1)) : std::string_view();
}

/// The number of processes in a call whose arguments begin here; empty if the call does not name it.
std::string_view count_in(std::string_view text) {
  std::size_t from = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size() && depth >= 0; ++i) {
    depth += std::string_view("([{").find(text[i]) != std::string_view::npos ? 1 : 0;
    depth -= std::string_view(")]}").find(text[i]) != std::string_view::npos ? 1 : 0;
    const bool is_end = depth < 0 || (depth == 0 && text[i] == ',');
    const std::string_view count = is_end ? count_of(text.substr(from, i - from)) : std::string_view();
    if (!count.empty()) {
      return count;
    }
    from = is_end ? i + 1 : from;
  }
  return {};
}

/// The call of `spawner` in a line of code with this number; `text` is the script from that line on.
std::optional<SpawnCall> call_in(std::string_view code, std::string_view text, const Spawner& spawner,
                                 std::size_t number) {
  constexpr std::size_t kLongest = 4096;
  constexpr std::size_t kMostOfCount = 40;
  const std::size_t at = find_word(code, spawner.function);
  const std::size_t bracket = at + spawner.function.size();
  if (at == std::string_view::npos || !code.substr(bracket).starts_with('(') || code.substr(0, at).ends_with("def ")) {
    return std::nullopt;
  }
  const std::string_view count = count_in(text.substr(bracket + 1, kLongest));
  if (count.empty() ? spawner.starts_one_by_default : count == "1" || count == "0") {
    return std::nullopt;
  }
  return SpawnCall{
      number,
      join(std::array{std::string(spawner.package), std::string(spawner.module), std::string(spawner.function)}, "."),
      count.empty() ? "" : "nprocs=" + one_line(count, kMostOfCount)};
}

/// For each of `kSpawners`: true if the script has named its module up to this line.
using Named = std::array<bool, kSpawners.size()>;

std::optional<SpawnCall> find_call(std::string_view code, std::string_view text, Named& named, std::size_t number) {
  for (std::size_t i = 0; i < kSpawners.size(); ++i) {
    named[i] = named[i] || names_module(code, kSpawners[i]);
    if (auto call = named[i] ? call_in(code, text, kSpawners[i], number) : std::nullopt) {
      return call;
    }
  }
  return std::nullopt;
}

bool asks_for_launcher(std::string_view line) {
  const std::string_view statement = trim(line);
  return (statement.starts_with("if ") || statement.starts_with("elif ")) &&
         std::ranges::any_of(
             kOfLaunchers, [&](std::string_view name) { return find_word(statement, name) != std::string_view::npos; });
}

/// True if a text of several lines, such as a docstring, begins or ends in this line.
bool turns_text(std::string_view line) {
  bool turns = false;
  for (std::size_t i = 0; i + 2 < line.size(); ++i) {
    if (const auto quotes = line.substr(i, 3); quotes == R"(""")" || quotes == "'''") {
      turns = !turns;
      i += 2;
    }
  }
  return turns;
}

}  // namespace

std::optional<SpawnCall> find_spawn(std::string_view script) {
  std::optional<SpawnCall> first;
  Named named{};
  bool is_text = false;
  std::size_t number = 1;
  for (std::size_t at = 0; at < script.size(); ++number) {
    const std::size_t end = std::min(script.find('\n', at), script.size());
    const std::string_view line = script.substr(at, end - at);
    const std::string code = is_text ? "" : code_of(line);
    if (!code.empty() && asks_for_launcher(line)) {
      return std::nullopt;
    }
    if (!first) {
      first = find_call(code, script.substr(at), named, number);
    }
    is_text = is_text != turns_text(is_text ? line : code);
    at = end + 1;
  }
  return first;
}

}  // namespace muster
