// Reads the command line of another launcher: options up to the script, its variables, and what
// muster adds of its own. Then the options become settings.
#include "front_end.hpp"

#include "option_syntax.hpp"

#include <muster/base/text.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

namespace muster {
namespace {

using Given = std::map<std::string, Sourced<std::string>>;

constexpr auto kFrontEnds = std::to_array<FrontEnd>({
    {"torchrun",
     "torchrun",
     "script.py [arguments...]",
     "Nodes meet before anything starts, fail and restart together; the first failure is named, "
     "and "
     "its exit code is the job's.",
     "PET_",
     '-',
     torchrun_options,
     translate_torchrun},
    {"torch.distributed.run",
     "torchrun",
     "script.py [arguments...]",
     "The same as torchrun, for lines that begin with 'python -m torch.distributed.run'.",
     "PET_",
     '-',
     torchrun_options,
     translate_torchrun},
    {"torch.distributed.launch",
     "torchrun",
     "script.py [arguments...]",
     "torchrun for scripts that read --local-rank, for lines that begin with 'python -m "
     "torch.distributed.launch'.",
     "PET_",
     '-',
     torch_launch_options,
     translate_torch_launch},
    {"msrun",
     "msrun",
     "script.py [arguments...]",
     "Nodes may have different numbers of workers; the first failure is named, and its exit code "
     "is "
     "the job's; no process outlives the job.",
     nullptr,
     '_',
     msrun_options,
     translate_msrun},
});

std::string dashed(std::string_view name) {
  std::string result(name);
  std::replace(result.begin(), result.end(), '_', '-');
  return result;
}

/// What muster has of its own beside the options of a front end, which says what the program is.
const Option* find_own(const std::string& name) {
  static constexpr std::array<std::string_view, 2> kDecided = {"module", "no-python"};
  const bool is_decided = std::find(kDecided.begin(), kDecided.end(), name) != kDecided.end();
  return is_decided ? nullptr : find_option(name);
}

/// One option as it was typed, found in one of the two tables.
struct Typed {
  std::string name;  ///< with dashes
  std::string source;
  bool takes_value = false;
  bool is_own = false;
  std::optional<std::string> inline_value;
};

std::optional<Typed> find_long(const FrontEnd& front_end, const std::string& token) {
  const std::size_t equals = token.find('=');
  Typed typed;
  typed.source = token.substr(0, equals);
  typed.name = dashed(typed.source.substr(2));
  if (equals != std::string::npos) {
    typed.inline_value = token.substr(equals + 1);
  }
  if (typed.name == kPrintOptions) {
    typed.is_own = true;
    return typed;
  }
  for (const FrontOption& option : front_end.options()) {
    if (typed.name == dashed(option.name)) {
      typed.takes_value = option.argument != nullptr;
      return typed;
    }
  }
  const Option* const own = find_own(typed.name);
  if (own == nullptr) {
    return std::nullopt;
  }
  typed.is_own = true;
  typed.takes_value = own->argument != nullptr;
  return typed;
}

/// "-r", "-r3" and "-r=3".
std::optional<Typed> find_short(const FrontEnd& front_end, const std::string& token) {
  Typed typed;
  for (const FrontOption& option : front_end.options()) {
    if (token[1] == option.letter) {
      typed.name = dashed(option.name);
      typed.takes_value = option.argument != nullptr;
    }
  }
  if (typed.name.empty()) {
    const Option* const letter = find_letter(token[1]);
    const Option* const own = letter == nullptr ? nullptr : find_own(letter->name);
    if (own == nullptr) {
      return std::nullopt;
    }
    typed.name = own->name;
    typed.takes_value = own->argument != nullptr;
    typed.is_own = true;
  }
  typed.source = "--" + typed.name;
  if (token.size() > 2) {
    typed.inline_value = token.substr(token[2] == '=' ? 3 : 2);
  }
  return typed;
}

/// Whether options of muster stand among those of a front end.
enum class Own {
  Allowed,
  Unknown
};

std::optional<std::string> nearest_of(const FrontEnd& front_end,
                                      const std::string& typed,
                                      Own own) {
  const std::size_t start = typed.find_first_not_of('-');
  const std::string bare =
      start == std::string::npos ? "" : dashed(typed.substr(start, typed.find('=') - start));
  std::vector<std::string> names;
  for (const FrontOption& option : front_end.options()) {
    names.push_back(dashed(option.name));
  }
  const auto nearest = nearest_name(bare, names);
  if (!nearest) {
    const auto of_muster = own == Own::Allowed ? nearest_option(bare) : std::nullopt;
    return of_muster && find_own(*of_muster) != nullptr ? of_muster : std::nullopt;
  }
  const auto at = std::find(names.begin(), names.end(), *nearest) - names.begin();
  return front_end.options()[static_cast<std::size_t>(at)].name;
}

Error unknown_token(const FrontEnd& front_end, const std::string& token, Own own) {
  return unknown_option(token,
                        nearest_of(front_end, token, own),
                        std::string("'muster ") + front_end.name +
                            " --help' lists them, and a script that begins with a dash goes "
                            "behind '--'");
}

/// The options in front of the script, and what begins with the script.
struct Tokens {
  Given given;
  Settings own;
  std::vector<std::string> program;
};

Result<std::string> value_of(const Typed& typed,
                             std::span<const std::string> tokens,
                             std::size_t& i) {
  if (!typed.takes_value) {
    return typed.inline_value
               ? Result<std::string>(
                     Error{ErrorKind::BadUsage, typed.source + " is a switch and takes no value"})
               : std::string("1");
  }
  if (typed.inline_value) {
    return *typed.inline_value;
  }
  if (i + 1 >= tokens.size()) {
    return Error{ErrorKind::BadUsage, typed.source + " needs a value"};
  }
  return tokens[++i];
}

/// The originals take the first "--" away wherever it is, so that scripts are started with
/// "torchrun script.py -- --its-own-option".
void drop_dashes(std::vector<std::string>& program, bool has_dashes_before) {
  if (!has_dashes_before && program.size() > 1 && program[1] == "--") {
    program.erase(program.begin() + 1);
  }
}

Result<Tokens> read_tokens(const FrontEnd& front_end,
                           std::span<const std::string> tokens,
                           Own own) {
  Tokens result;
  std::size_t i = 0;
  bool has_dashes = false;
  for (; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    if (token == "--") {
      has_dashes = true;
      ++i;
      break;
    }
    if (token.size() < 2 || token.front() != '-') {
      break;
    }
    const auto typed =
        token.starts_with("--") ? find_long(front_end, token) : find_short(front_end, token);
    if (!typed || (typed->is_own && own == Own::Unknown)) {
      return unknown_token(front_end, token, own);
    }
    const auto value = value_of(*typed, tokens, i);
    if (!value) {
      return value.error();
    }
    if (!typed->is_own) {
      result.given[typed->name] = {*value, typed->source};
    } else if (auto set = set_option(result.own, typed->name, {*value, typed->source}); !set) {
      return set.error();
    }
  }
  result.program.assign(tokens.begin() + static_cast<std::ptrdiff_t>(i), tokens.end());
  drop_dashes(result.program, has_dashes);
  return result;
}

/// A switch by variable: a number, as torchrun reads it, or a word.
Result<bool> read_switch(const Sourced<std::string>& variable) {
  if (variable.value == "true" || variable.value == "True") {
    return true;
  }
  if (variable.value == "false" || variable.value == "False") {
    return false;
  }
  const auto number = parse_integer(variable.value, 0, 1);
  return number ? Result<bool>(*number == 1) : wrong_value(variable, "0, 1, true or false");
}

/// PET_NPROC_PER_NODE is --nproc-per-node where the flag is not given.
Result<> read_variables(const FrontEnd& front_end, const Snapshot& snapshot, Given& given) {
  if (front_end.variables == nullptr) {
    return {};
  }
  for (const FrontOption& option : front_end.options()) {
    const std::string name = dashed(option.name);
    std::string variable = front_end.variables;
    for (const char c : name) {
      variable += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    const auto value = snapshot.variable(variable);
    if (!value || !option.may_be_variable || given.contains(name)) {
      continue;
    }
    if (option.argument != nullptr) {
      given[name] = {*value, variable};
      continue;
    }
    const auto is_on = read_switch({*value, variable});
    if (!is_on) {
      return is_on.error();
    }
    if (*is_on) {
      given[name] = {"1", variable};
    }
  }
  return {};
}

bool is_choice(const FrontOption& option, const std::string& value) {
  const std::vector<std::string> choices = split(option.choices, ' ');
  return std::find(choices.begin(), choices.end(), value) != choices.end();
}

/// What the table says of each option that is given, and then what only the front end knows.
Result<> translate(const FrontEnd& front_end, Translation& translation) {
  for (const FrontOption& option : front_end.options()) {
    const std::string name = dashed(option.name);
    if (!translation.has(name)) {
      continue;
    }
    const Sourced<std::string>& value = translation.given.at(name);
    if (option.is_strict && !is_choice(option, value.value)) {
      return wrong_value(value, "one of " + join(split(option.choices, ' '), ", "));
    }
    if (option.fate == Fate::Ignored) {
      translation.notices.push_back("ignoring " + value.source + ": " + option.note);
    } else if (option.setting != nullptr) {
      translation.set(option.setting, value);
    }
  }
  return front_end.translate(translation);
}

bool asks_for_text(const Settings& settings) {
  for (const char* const name :
       {"help", "version", "print-man", "print-completion", kPrintOptions}) {
    if (settings.has(name)) {
      return true;
    }
  }
  return false;
}

void take_over(CommandLine& line, Translation& translation) {
  line.program = std::move(translation.program);
  line.worker_arguments = std::move(translation.worker_arguments);
  line.is_python_script = translation.is_python_script;
  line.notices.insert(line.notices.end(), translation.notices.begin(), translation.notices.end());
}

/// The name decides how workers are started. Before the options, --mode can be given all the same.
Result<> check_mode(const Settings& settings,
                    const FrontEnd& front_end,
                    const std::string& called) {
  const auto mode = settings.find("mode");
  if (mode && mode->value != front_end.mode && mode->value != "auto") {
    return Error{ErrorKind::BadUsage,
                 mode->source + " is '" + mode->value + "' but '" + called +
                     "' starts workers by '" + front_end.mode + "'; leave one of them out"};
  }
  return {};
}

}  // namespace

std::optional<Sourced<std::string>> Translation::find(const std::string& name) const {
  const auto at = given.find(name);
  return at == given.end() || at->second.value.empty() ? std::nullopt : std::optional(at->second);
}

bool Translation::is_on(const std::string& name) const {
  return has(name);  // a switch that is off is not given
}

void Translation::set(const std::string& setting, Sourced<std::string> value) {
  settings.insert_or_assign(setting, std::move(value));
}

void Translation::ignore(const std::string& name,
                         const std::string& setting,
                         const std::string& why) {
  const auto at = given.find(name);
  if (at != given.end() && !at->second.value.empty()) {
    notices.push_back("ignoring " + at->second.source + ": " + why);
  }
  settings.erase(setting);
}

std::span<const FrontEnd> front_ends() {
  return kFrontEnds;
}

const FrontEnd* find_front_end(std::string_view name) {
  const auto at = std::find_if(
      kFrontEnds.begin(), kFrontEnds.end(), [&](const FrontEnd& one) { return name == one.name; });
  return at == kFrontEnds.end() ? nullptr : &*at;
}

Result<const FrontEnd*> front_end_of(std::string_view argv0) {
  std::string name = std::filesystem::path(argv0).filename();
  if (name.starts_with('-')) {  // a login shell's
    name.erase(0, 1);
  }
  if (name.empty() || name.starts_with("muster")) {
    return nullptr;
  }
  if (const FrontEnd* const front_end = find_front_end(name)) {
    return front_end;
  }
  std::vector<std::string> known = {"muster"};
  for (const FrontEnd& front_end : kFrontEnds) {
    known.emplace_back(front_end.name);
  }
  return Error{ErrorKind::BadUsage,
               "this program was started as '" + name + "', expected a name that begins with " +
                   "muster, or one of " + join(std::span(known).subspan(1), ", ")};
}

Result<> read_front_end(CommandLine& line,
                        const FrontEnd& front_end,
                        const std::string& called,
                        std::span<const std::string> tokens,
                        const Snapshot& snapshot) {
  auto read = read_tokens(front_end, tokens, Own::Allowed);
  if (!read) {
    return read.error();
  }
  line.front_end = &front_end;
  read->own.for_each([&](const std::string& name, const Sourced<std::string>& value) {
    line.settings.set(name, value);
  });
  if (auto checked = check_mode(line.settings, front_end, called); !checked) {
    return checked;
  }
  line.settings.set("mode", {front_end.mode, called});
  if (auto own = read_own_variables(snapshot, line.settings);
      !own || asks_for_text(line.settings)) {
    return own;
  }
  if (auto variables = read_variables(front_end, snapshot, read->given); !variables) {
    return variables;
  }
  Translation translation{
      snapshot, true, line.settings, std::move(read->given), {}, {}, {}, false, {}};
  translation.program = std::move(read->program);
  if (auto translated = translate(front_end, translation); !translated) {
    return translated;
  }
  for (const auto& [name, value] : translation.settings) {
    const auto own = line.settings.find(name);
    if (!own || is_flag(value.source) || name == "mode") {
      line.settings.set(name, value);
    }
  }
  take_over(line, translation);
  return {};
}

Result<> read_extra_options(CommandLine& line,
                            const FrontEnd& front_end,
                            const Sourced<std::string>& words,
                            const Snapshot& snapshot) {
  std::vector<std::string> tokens;
  for (const std::string& piece : split(words.value, ' ')) {
    if (const std::string_view word = trim(piece); !word.empty()) {
      tokens.emplace_back(word);
    }
  }
  auto read = read_tokens(front_end, tokens, Own::Unknown);
  if (!read) {
    return Error{ErrorKind::BadEnvironment, words.source + ": " + read.error().message};
  }
  if (!read->program.empty()) {
    return wrong_value(words, std::string("options of ") + front_end.name + " and no program");
  }
  for (auto& [name, value] : read->given) {
    value.source = words.source;
  }
  Translation translation{snapshot,
                          false,
                          line.settings,
                          std::move(read->given),
                          {},
                          {},
                          {},
                          line.is_python_script,
                          {}};
  translation.program = std::move(line.program);
  translation.worker_arguments = std::move(line.worker_arguments);
  if (auto translated = translate(front_end, translation); !translated) {
    return translated;
  }
  for (const auto& [name, value] : translation.settings) {
    line.settings.set(name, value);
  }
  take_over(line, translation);
  return {};
}

void add_worker_arguments(ModeTemplate& mode, const CommandLine& line) {
  for (RoleTemplate& role : mode.roles) {
    role.arguments.insert(
        role.arguments.end(), line.worker_arguments.begin(), line.worker_arguments.end());
  }
}

std::vector<std::string> front_end_remarks(const CommandLine& line, const Cluster& cluster) {
  std::vector<std::string> remarks = line.notices;
  if (line.front_end == nullptr || line.settings.has("nnodes") || cluster.nodes == 1) {
    return remarks;
  }
  for (const Decision& decision : cluster.decisions) {
    if (decision.field == "nodes.count") {
      remarks.push_back(std::string(line.front_end->name) +
                        " alone would run on one node: taking " + decision.value + " from " +
                        decision.source);
    }
  }
  return remarks;
}

}  // namespace muster
