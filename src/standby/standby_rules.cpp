// Decides about standbys, by text alone.
#include "standby/standby_rules.hpp"

#include "base/text.hpp"
#include "compat/known_launchers.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <span>

namespace muster::standby {
namespace {

/// Variables that may differ between two attempts, because libraries read them, if at all, when the ranks meet and
/// not at their import. Variables of ranks must not: lightning.fabric.utilities.rank_zero reads RANK at its import.
/// Those of muster may differ, too.
constexpr auto kMayDiffer = std::to_array<std::string_view>({
    "GLOO_SOCKET_IFNAME",
    "MASTER_ADDR",
    "MASTER_PORT",
    "MS_SCHED_HOST",
    "MS_SCHED_PORT",
    "MS_WORKER_IP",
    "NCCL_RAS_ADDR",
    "NCCL_SOCKET_IFNAME",
    "TORCHELASTIC_ERROR_FILE",
    "TORCHELASTIC_RESTART_COUNT",
    "TORCHELASTIC_TIMER_FILE",
    "TORCH_FR_DEBUG_INFO_PIPE_FILE",
    "TORCH_FR_DUMP_TEMP_FILE",
    "TORCH_HCCL_DEBUG_INFO_PIPE_FILE",
    "TORCH_HCCL_DEBUG_INFO_TEMP_FILE",
    "TORCH_NCCL_DEBUG_INFO_PIPE_FILE",
    "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
});

constexpr std::size_t kMostNameBytes = 256;

bool is_module_name(std::string_view name) {
  const auto may_stand = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return c == '_' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           byte >= 0x80;  // a letter of another script
  };
  return !name.empty() && name.size() <= kMostNameBytes && std::ranges::all_of(name, may_stand) &&
         name.find_first_of("0123456789.") != 0 && !name.ends_with('.') && name.find("..") == std::string_view::npos;
}

/// True if Python would not import our file: -E and -I ignore PYTHONPATH, -S skips sitecustomize; also in "-uE".
bool ignores_our_file(std::span<const std::string> options) {
  return std::ranges::any_of(options, [](const std::string& word) {
    return word.size() > 1 && word[0] == '-' && word[1] != '-' &&
           word.find_first_of("EIS") < word.find_first_of("mcWX");
  });
}

using Variables = std::map<std::string_view, std::string_view>;

Variables variables_of(const SpawnRequest& request) {
  Variables variables;
  for (const std::string_view entry : request.environment) {
    const std::size_t end = std::min(entry.find('='), entry.size());
    variables[entry.substr(0, end)] = entry.substr(std::min(end + 1, entry.size()));
  }
  return variables;
}

/// Names that have another value in one of them, or are missing there.
std::set<std::string_view> names_that_differ(const Variables& one, const Variables& other) {
  std::set<std::string_view> names;
  std::vector<Variables::value_type> entries;
  std::ranges::set_symmetric_difference(one, other, std::back_inserter(entries));
  for (const auto& [name, value] : entries) {
    names.insert(name);
  }
  return names;
}

/// Reads "SIZE TIME PATH".
std::optional<FileState> read_state(std::string_view text) {
  FileState state;
  for (std::int64_t* const number : {&state.size, &state.modified}) {
    const char* const end = text.data() + std::min(text.find(' '), text.size());
    const auto [behind, error] = std::from_chars(text.data(), end, *number);
    if (error != std::errc() || behind != end || end == text.data() + text.size()) {
      return std::nullopt;
    }
    text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  }
  state.path = text;
  return state;
}

/// True for " 7:3 0:12" and " 7": numbers of files, and lines in them.
bool are_places(std::string_view text, std::size_t files) {
  constexpr int kMostLines = 100'000'000;
  std::vector<std::string> places = split(std::string(text), ' ');
  if (places.size() < 2 || !places.front().empty()) {
    return false;
  }
  places.erase(places.begin());
  return std::ranges::all_of(places, [files](const std::string& place) {
    const std::size_t colon = place.find(':');
    const bool has_line = colon == std::string::npos || parse_integer(place.substr(colon + 1), 0, kMostLines);
    return has_line && files > 0 && parse_integer(place.substr(0, colon), 0, static_cast<int>(files) - 1);
  });
}

std::string framed(const std::string& bytes) {
  return std::to_string(bytes.size()) + "\n" + bytes;
}

}  // namespace

Result<std::optional<std::vector<std::string>>> read_modules(const Sourced<std::string>& given) {
  using Modules = std::optional<std::vector<std::string>>;
  if (given.value == "off" || given.value == "auto") {
    return given.value == "off" ? Modules() : Modules(std::in_place);
  }
  std::vector<std::string> modules = split(given.value, ',');
  if (modules.empty() || !std::ranges::all_of(modules, is_module_name)) {
    return wrong_value(given, "off, auto, or modules of Python such as torch,numpy.linalg");
  }
  return Modules(std::move(modules));
}

std::optional<PythonProgram> find_python_program(const std::vector<std::string>& argv) {
  if (argv.empty() || !is_python(argv.front())) {
    return std::nullopt;
  }
  const PythonRun run = read_python_words(argv);
  const std::size_t words = argv.size() - run.arguments.size();
  if ((run.script.empty() && run.module.empty()) || ignores_our_file(std::span(argv).subspan(1, words - 1))) {
    return std::nullopt;
  }
  return PythonProgram{{argv.begin(), argv.begin() + static_cast<std::ptrdiff_t>(words)}, !run.module.empty()};
}

std::vector<std::string> harmless_words(const PythonProgram& program) {
  constexpr std::string_view kGlued = "-m";
  std::vector<std::string> words = program.words;
  const bool is_glued = program.is_module && words.back().starts_with(kGlued);
  words.back() = !program.is_module ? "/dev/null" : is_glued ? "-msite" : "site";
  return words;
}

bool Imports::has_modules() const {
  return std::ranges::any_of(steps, [](const std::string& step) { return !step.starts_with('*'); });
}

namespace {

/// Collects the lines of notes.
struct NoteReader {
  Imports imports{};
  std::set<std::string> loaded{};
  std::set<std::string> ended{};  ///< modules whose import failed, or that belong to no library
  std::vector<std::string> begun{};

  void take(const std::string& line) {
    const char mark = line.find_first_of("+-*!=") == 0 ? line.front() : '\0';
    const std::string rest = line.substr(mark == '\0' ? 0 : 1);
    const std::string name = rest.substr(0, rest.find(' '));
    if (mark == '!') {
      imports.end = rest.substr(0, kMostNameBytes);
    } else if (auto state = mark == '=' ? read_state(rest) : std::nullopt) {
      imports.files.push_back(std::move(*state));
    } else if (mark == '+' || mark == '-') {
      (mark == '+' ? loaded : ended).insert(name);
    } else if (is_module_name(name) && are_places(std::string_view(rest).substr(name.size()), imports.files.size())) {
      imports.steps.push_back(line);
      mark == '*' ? void(ended.insert(name)) : begun.push_back(name);
    }
  }
};

}  // namespace

Imports read_imports(std::string_view notes) {
  const std::string_view text = notes.substr(0, std::min(notes.find('\0'), notes.size()));
  const std::vector<std::string> lines =
      split(text.substr(0, text.rfind('\n') + 1), '\n');  // the last may be half a line
  NoteReader reader;
  if (lines.empty()) {
    return reader.imports;
  }
  std::ranges::for_each(std::span(lines).subspan(1), [&reader](const std::string& line) { reader.take(line); });
  Imports imports = std::move(reader.imports);
  imports.process = parse_integer(lines.front(), 1, std::numeric_limits<int>::max()).value_or(-1);
  std::erase_if(imports.steps, [&loaded = reader.loaded](const std::string& step) {
    return !step.starts_with('*') && !loaded.contains(step.substr(0, step.find(' ')));
  });
  const auto loads = [&reader](const std::string& name) {
    return !reader.loaded.contains(name) && !reader.ended.contains(name);
  };
  imports.is_loading = imports.end.empty() && std::ranges::any_of(reader.begun, loads);
  return imports;
}

std::string note_of(const FileState& file) {
  return "=" + std::to_string(file.size) + " " + std::to_string(file.modified) + " " + file.path + "\n";
}

SpawnRequest with_sitecustomize(SpawnRequest request, const std::string& folder, std::string_view what, int passed) {
  constexpr std::string_view kPath = "PYTHONPATH=";
  const auto path = std::ranges::find_if(request.environment, [&](const auto& one) { return one.starts_with(kPath); });
  std::string order = environment_entry(
      "_MUSTER_STANDBY", std::string(what) + " " + std::to_string(passed) + " " + std::to_string(::getpid()));
  std::string search_path = environment_entry("PYTHONPATH", folder);
  if (path != request.environment.end()) {
    const std::string before = path->substr(kPath.size());
    order += " " + before;
    search_path += before.empty() ? "" : ":" + before;
    request.environment.erase(path);
  }
  request.environment.push_back(std::move(search_path));
  request.environment.push_back(std::move(order));
  request.passed = passed;
  return request;
}

std::string imports_message(const Imports& imports, bool is_paced, bool are_given) {
  std::string message = std::string(is_paced ? "paced " : "") + (are_given ? "" : "libraries") + "\n";
  for (const FileState& file : imports.files) {
    message += note_of(file);
  }
  return framed(message + join(imports.steps, "\n"));
}

std::string misfit(const SpawnRequest& standing, const SpawnRequest& wanted) {
  if (standing.executable != wanted.executable || standing.argv != wanted.argv) {
    return "its arguments differ";
  }
  if (standing.working_directory != wanted.working_directory) {
    return "its folder differs";
  }
  if (standing.cpus != wanted.cpus || standing.memory_nodes != wanted.memory_nodes ||
      standing.is_memory_strict != wanted.is_memory_strict) {
    return "its binding differs";
  }
  if (!wanted.leads_session || wanted.terminal >= 0) {
    return "it reads the terminal";
  }
  for (const std::string_view name : names_that_differ(variables_of(standing), variables_of(wanted))) {
    if (!contains(kMayDiffer, name) && !name.starts_with("MUSTER_")) {
      return std::string(name) + " differs";
    }
  }
  return "";
}

std::string order_message(const SpawnRequest& standing, const SpawnRequest& wanted) {
  const Variables after = variables_of(wanted);
  std::string fields = wanted.executable + '\0';
  for (const std::string_view name : names_that_differ(variables_of(standing), after)) {
    const auto value = after.find(name);
    fields += std::string(name) + (value == after.end() ? "" : "=" + std::string(value->second)) + '\0';
  }
  return framed(fields);
}

bool has_room(const Memory& memory, std::uint64_t size) {
  constexpr std::uint64_t kPartKept = 10;
  return memory.free >= size && memory.free - size >= memory.total / kPartKept;
}

std::optional<Memory> read_meminfo(std::string_view text) {
  const auto kibibytes = [text](std::string_view name) -> std::optional<std::uint64_t> {
    const std::size_t at = text.find(name);
    const std::string_view rest = at == std::string_view::npos ? "" : text.substr(at + name.size());
    const std::string_view line = trim(rest.substr(0, std::min(rest.find('\n'), rest.size())));
    std::uint64_t number = 0;
    const bool is_number = std::from_chars(line.data(), line.data() + line.size(), number).ec == std::errc();
    return is_number ? std::optional(number) : std::nullopt;
  };
  const auto free = kibibytes("MemAvailable:");
  const auto total = kibibytes("MemTotal:");
  if (!free || !total) {
    return std::nullopt;
  }
  return Memory{*free << 10U, *total << 10U};
}

}  // namespace muster::standby
