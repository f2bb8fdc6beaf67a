// Reads muster's command line, and turns its settings into requests for the stages.
#include "requests.hpp"

#include "base/text.hpp"
#include "compat/compat_launcher.hpp"
#include "compat/known_launchers.hpp"
#include "compat/nested_launcher.hpp"
#include "options/settings.hpp"
#include "options/syntax.hpp"
#include "platforms/request.hpp"
#include "subcommands.hpp"

namespace muster {
namespace {

Result<> read_stdin(RunOptions& options, const Settings& settings) {
  const auto setting = settings.find("stdin");
  if (!setting) {
    return {};
  }
  if (setting->value == "all" || setting->value == "none") {
    options.input_for = setting->value == "all" ? InputFor::All : InputFor::None;
    return {};
  }
  const auto rank = parse_integer(setting->value, 0, 1'000'000);
  if (!rank) {
    return wrong_value(*setting, "a local rank such as 0, all or none");
  }
  options.input_for = InputFor::ChosenWorker;
  options.input_rank = LocalRank{*rank};
  return {};
}

/// Sources of the options that place workers.
std::vector<Source> placed_by(const Settings& settings) {
  std::vector<Source> sources;
  for (const char* const name : {"nnodes", "node-rank", "master-addr", "master-port", "devices", "platform", "hosts",
                                 "hostfile", "mode", "template", "mpi-start", "mpirun-options", "rank-table",
                                 "hccn-conf", "numa-binding", "bind-core", "bind-numa", "topology"}) {
    if (const auto setting = settings.find(name)) {
      sources.push_back(setting->source);
    }
  }
  return sources;
}

std::optional<Source> source_of(const Settings& settings, std::string_view name) {
  const auto setting = settings.find(name);
  return setting ? std::optional(setting->source) : std::nullopt;
}

/// The Python interpreter. If muster was called by another launcher's name, the interpreter beside that name, as in a
/// virtual environment that is not activated.
std::string find_python(const CommandLine& line, const Snapshot& snapshot) {
  if (const auto given = snapshot.variable("PYTHON_EXEC")) {
    return *given;
  }
  const std::string& argv0 = line.words.empty() ? "" : line.words.front();
  const auto called = compat_of(argv0);
  const std::string beside =
      called && *called != nullptr ? find_own_python(argv0, snapshot.variable("PATH").value_or("")) : "";
  return beside.empty() ? "python3" : beside;
}

/// Fails if a launcher's script is the word "python": the launcher starts Python itself.
Result<> check_is_no_python(const CommandLine& line) {
  const std::string& word = line.program.front();
  if (line.compat == nullptr || !is_python(word)) {
    return {};
  }
  return Error{ErrorKind::BadUsage, original_of(*line.compat) + " takes '" + word +
                                        "' for the script, because it starts Python itself: leave '" + word +
                                        "' out, or give " + spelled(line, "no-python")};
}

/// Reads the program. A template of the user's may need none, which is checked when the template has been read.
Result<> read_program(JobRequest& job, const CommandLine& line, const Snapshot& snapshot) {
  const std::string python = find_python(line, snapshot);
  if (const auto module = line.settings.find("module")) {
    job.program = {python, "-m", module->value};
  } else if (line.command == Command::Explain && line.program.empty()) {
    job.program = {"program"};  // `explain` needs no program
  } else if (line.program.empty() && line.settings.has("template")) {
    return {};
  } else if (line.program.empty() || line.program.front().empty()) {
    return no_program(line.compat, snapshot.has_input);
  } else if ((line.is_python_script || line.program.front().ends_with(".py")) && !is_on(line.settings, "no-python")) {
    TRY(check_is_no_python(line));
    job.program = {python};
    job.script = line.program.front() == "-" ? "" : line.program.front();  // Python reads "-" from standard input
  }
  const bool is_python_added = !job.program.empty();
  job.program.insert(job.program.end(), line.program.begin(), line.program.end());
  job.files = find_program_files(job.program, is_python_added);
  // As torch's own launcher does, for launchers that start it. Source: macros.substitute of
  // torch/distributed/elastic/agent/server/local_elastic_agent.py.
  const std::string_view mode = line.compat != nullptr ? line.compat->mode : "";
  job.fills_local_rank = mode == "torchrun" || mode == "accelerate";
  return {};
}

/// The option's spelling, with a remark if the line gives it an empty value, as an unset variable of the shell does.
std::string spelled_with_emptiness(const CommandLine& line, std::string_view name) {
  std::string spelling = spelled(line, name);
  for (std::size_t i = 0; i < line.words.size(); ++i) {
    const std::string word = with_dashes(line.words[i]);
    const bool is_last = i + 1 == line.words.size();
    if (word == with_dashes(spelling) + "=" ||
        (word == with_dashes(spelling) && !is_last && line.words[i + 1].empty())) {
      return spelling + ", which is empty on this line";
    }
  }
  return spelling;
}

/// Reads where the job runs, how its processes start, and their binding.
Result<> read_places(Options& options, const CommandLine& line, const Snapshot& snapshot) {
  TRY(read_network(options.job, line.settings, snapshot));
  options.mode = read_mode_request(line.settings);
  options.mode.mpi = TRY(read_mpi_request(line.settings));
  TRY(read_rank_table(options, line.settings, snapshot));
  options.cluster = TRY(read_cluster_request(line.settings));
  options.cluster.names = {spelled(line, "nnodes"), spelled(line, "node-rank"),
                           spelled_with_emptiness(line, "master-addr")};
  if (!line.words.empty()) {
    options.cluster.names.command = shell_line(line.words);
  }
  options.binding = TRY(read_binding_options(line.settings));
  return {};
}

}  // namespace

Error no_program(const CompatLauncher* compat, bool has_input) {
  const std::string help =
      compat == nullptr ? "'muster train.py' or 'muster --help'" : "'muster " + command_of(*compat) + " --help'";
  const std::string unread = has_input ? ", and muster reads none from standard input: name its file" : "";
  return Error{ErrorKind::BadUsage, "no program to run" + unread + "; try " + help};
}

Result<JobRequest> read_job(const CommandLine& line, const Snapshot& snapshot) {
  JobRequest job;
  TRY(read_program(job, line, snapshot));
  TRY(read_rows(job, line.settings));
  // Makes the agent serve the store if ModelArts asks for torchrun, whose agent does so. As with torchrun up to torch
  // 2.13, the ranks are then clients of every store that a script makes. Choosing the mode refuses an unknown
  // MA_RUN_METHOD.
  const RunMethod* const method = find_run_method(snapshot);
  if (!line.settings.has("store") && method != nullptr && std::string_view(method->mode) == "torchrun") {
    job.hosts_store = default_of("torchrun");
  }
  for (const auto& [name, value] : line.settings.starting_with(kExportPrefix)) {
    job.exported[name.substr(std::string_view(kExportPrefix).size())] = value.value;
  }
  job.folder = line.settings.find(kProgramFolder).value_or(Sourced<std::string>{}).value;
  if (const auto layout = line.settings.find(kLogLayout)) {
    job.log_layout = layout->value == kNoLogs ? LogLayout::Nothing : LogLayout::Torchrun;
  }
  return job;
}

/// Reads the limit of a system call from torchrun's variable; torchrun has no option for it.
Result<> read_call_limit(HangOptions& hangs, const Snapshot& snapshot) {
  constexpr const char* kVariable = "TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT";
  if (const auto value = snapshot.variable(kVariable)) {
    hangs.call = TRY(read_seconds({*value, from_variable(kVariable)}));
  }
  return {};
}

Result<RunOptions> read_run_options(const Settings& settings, const Snapshot& snapshot) {
  RunOptions options;
  TRY(read_rows(options, settings));
  TRY(read_rows(options.hangs, settings));
  TRY(read_rows(options.standby, settings));
  TRY(read_rows(options.caches, settings));
  TRY(read_rows(options.read_ahead, settings));
  TRY(read_call_limit(options.hangs, snapshot));
  TRY(read_suspend_options(options, settings, snapshot));
  TRY(read_stdin(options, settings));
  TRY(read_log_options(options, settings, snapshot));
  options.host_name = snapshot.host_name;
  return options;
}

/// The error of a line without a program. An option may have taken it as its value: "--hang-timeout train.py".
Error no_job(const CommandLine& line, const Snapshot& snapshot, Error no_program) {
  JobRequest job;
  Options options;
  const auto read = [&]() -> Result<> {
    TRY(read_rows(job, line.settings));
    TRY(read_run_options(line.settings, snapshot));
    TRY(read_gang_options(line.settings, snapshot));
    TRY(read_rows(options, line.settings));
    return read_places(options, line, snapshot);
  };
  const auto options_read = read();
  return options_read ? find_taken_script(line.words).value_or(std::move(no_program)) : options_read.error();
}

Result<Options> read_options(const CommandLine& line, const Snapshot& snapshot) {
  const Settings& settings = line.settings;
  Options options;
  auto job = read_job(line, snapshot);
  if (!job && line.program.empty()) {
    return no_job(line, snapshot, job.error());
  }
  options.job = TRY(std::move(job));
  options.run = TRY(read_run_options(settings, snapshot));
  options.gang = TRY(read_gang_options(settings, snapshot));
  options.stop_signals = source_of(settings, "signals-to-handle");
  options.stdin_rank = source_of(settings, "stdin");
  TRY(read_rows(options, settings));
  options.is_worker_already = is_already_worker(snapshot) && !settings.has("nproc-per-node");
  if (options.is_worker_already) {
    options.ignored = placed_by(settings);
    return options;
  }
  if (const auto when = settings.find("compat-hfai")) {
    TRY(read_member<&Options::compat_hfai, read_when>(options, *when));
  }
  TRY(read_places(options, line, snapshot));
  return options;
}

Result<> check_stdin_rank(const Options& options, const LaunchPlan& plan) {
  const auto workers = static_cast<int>(plan.workers.size());
  const LocalRank rank = options.run.input_rank;
  if (options.run.input_for != InputFor::ChosenWorker || rank.value < workers) {
    return {};
  }
  return wrong_value({std::to_string(rank.value), options.stdin_rank.value_or(Source{})},
                     "a local rank below " + std::to_string(workers) + ", the workers of this node");
}

std::string describe_unread_program(const Options& options, const LaunchPlan& plan, bool has_input) {
  const InputFor readers = options.run.input_for;
  const bool is_alone = plan.workers.size() == 1 && readers != InputFor::None;
  if (!has_input || is_alone || !reads_program_from_input(options.job.program)) {
    return {};
  }
  const bool has_reader = readers == InputFor::ChosenWorker || readers == InputFor::All;  // all share its bytes
  return "'" + options.job.program.front() + "' reads its program from standard input, which " +
         (has_reader ? "one of the workers gets: the others run" : "none of the workers gets: they run") +
         " an empty program; name its file";
}

// Cuts the command line into options and program, and reads both.

namespace {

/// True if the option's value is the next token.
bool takes_next(const OptionTable& table, const std::string& token) {
  const Option* const option = token.starts_with("--") ? table.find(token.substr(2))  // none is found with "=value"
                               : token.size() == 2     ? table.find_letter(token[1])
                                                       : nullptr;
  return option != nullptr && option->argument != nullptr;
}

/// A command line cut at its program.
struct SplitLine {
  std::vector<std::string> options;
  std::vector<std::string> program;
  bool may_be_compat = true;  ///< false: the program is behind "--", or is a module's arguments
  bool is_set_apart = false;  ///< "--" is in front of the program
};

SplitLine cut(std::span<const std::string> tokens, const OptionTable& table) {
  SplitLine result;
  std::size_t i = 0;
  for (bool is_done = false; i < tokens.size() && !is_done; ++i) {
    if (tokens[i] == "--") {
      ++i;
      result.may_be_compat = false;
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
    // The module's arguments follow.
    is_done = token.starts_with("-m") || token == "--module" || token.starts_with("--module=");
    result.may_be_compat = !is_done;
  }
  result.program.assign(tokens.begin() + static_cast<std::ptrdiff_t>(i), tokens.end());
  return result;
}

/// Cuts the words behind `explain`: a message that begins with an option, such as "--nnodes stands behind ...", and the
/// code of a signal, such as "-9", are taken for the program.
SplitLine cut_question(std::span<const std::string> tokens, const OptionTable& table) {
  const auto message = std::ranges::find_if(tokens, [](const std::string& token) {
    const bool is_code = token.starts_with('-') && parse_integer(std::string_view(token).substr(1), 1, 64);
    return is_code || (token.starts_with("--") && token.find(' ') < token.find('='));
  });
  SplitLine parts = cut(tokens.first(static_cast<std::size_t>(message - tokens.begin())), table);
  if (message == tokens.end() || !parts.program.empty() || parts.is_set_apart) {
    return cut(tokens, table);
  }
  parts.program.assign(message, tokens.end());
  return parts;
}

/// The other launcher that the program's name stands for; nullptr if it stands for none.
const CompatLauncher* compat_behind(const SplitLine& parts) {
  return parts.may_be_compat && !parts.program.empty() ? find_compat(parts.program.front()) : nullptr;
}

/// Fails if the program's name looks like an option of muster whose dashes are missing or are not those of ASCII.
Result<> check_program_name(const SplitLine& parts) {
  if (parts.is_set_apart || !parts.may_be_compat || parts.program.empty()) {
    return {};
  }
  const std::string& word = parts.program.front();
  const OptionTable table = own_options();
  if (looks_like_option(word)) {
    return unknown_own_option(word, table);
  }
  return check_is_no_option(word, "the program", [&](const std::string& typed) -> std::optional<std::string> {
    const Option* const option = table.find(typed);
    return option == nullptr || option->argument == nullptr ? std::nullopt : std::optional(typed);
  });
}

/// Adds a notice for an option of muster behind the program. Options that any program has, such as --help, get none.
void notice_own_options(CommandLine& line) {
  const OptionTable table = own_options();
  auto notice =
      describe_option_behind(line.program, "muster", [&](const std::string& typed) -> std::optional<std::string> {
        const Option* const option = table.find(typed);
        const bool is_ours = option != nullptr && std::string_view(option->section) != "Help";
        return is_ours ? std::optional<std::string>(option->name) : std::nullopt;
      });
  if (notice) {
    line.notices.push_back(std::move(*notice));
  }
}

/// Fails for `help` and `version`, which are no commands, and names the options to use.
Result<> check_first_word(const std::vector<std::string>& tokens) {
  if (tokens.empty() || (tokens.front() != "help" && tokens.front() != "version")) {
    return {};
  }
  return Error{ErrorKind::BadUsage, "'" + tokens.front() + "' is no command of muster; write 'muster --" +
                                        tokens.front() + "', and put a program of that name after '--'"};
}

/// The command in the first word; empty if it is none.
std::optional<Command> command_of(const std::vector<std::string>& tokens) {
  const std::string word = tokens.empty() ? "" : tokens.front();
  for (const auto& [name, command] :
       {std::pair("run", Command::Run), std::pair("plan", Command::Plan), std::pair("explain", Command::Explain)}) {
    if (word == name) {
      return command;
    }
  }
  const auto all = subcommands();
  const auto found = std::ranges::find_if(all, [&](const Subcommand& one) { return word == one.name; });
  return found == all.end() ? std::nullopt : std::optional(found->command);
}

}  // namespace

std::optional<std::string> nearest_command(const std::string& word) {
  std::vector<std::string> names{"run", "plan", "explain"};
  for (const Subcommand& one : subcommands()) {
    names.emplace_back(one.name);
  }
  for (const CompatLauncher& compat : compat_launchers()) {
    names.push_back(command_of(compat));
  }
  names.insert(names.end(), {"help", "version"});
  constexpr std::size_t kTellingLetters = 3;  // a shorter word is near to too many commands
  const bool is_name = word.size() >= kTellingLetters && word.find_first_of("./") == std::string::npos;
  const auto near = is_name ? nearest_name(word, names) : std::nullopt;
  return near == "help" || near == "version" ? "--" + *near : near;
}

namespace {

/// Reads `muster [plan|explain|run|check|doctor|token|status|stop|suspend|render] [options] program ...`. The program
/// may be another launcher's name with its command line.
Result<> read_own_command_line(CommandLine& line, const std::vector<std::string>& tokens, const Snapshot& snapshot,
                               const ReadText& read_text) {
  TRY(check_first_word(tokens));
  const auto command = command_of(tokens);
  const auto rest = std::span(tokens).subspan(command ? 1 : 0);
  line.command = command.value_or(Command::Run);
  if (const Subcommand* const subcommand = find_subcommand(line.command)) {
    return subcommand->read(line, rest);
  }
  SplitLine parts = line.command == Command::Explain ? cut_question(rest, own_options()) : cut(rest, own_options());
  auto read = read_flags(parts.options, own_options(), line.settings);
  if (auto taken = read ? std::nullopt : find_taken_script(rest.first(rest.size() - parts.program.size()))) {
    return std::move(*taken);
  }
  TRY(std::move(read));
  TRY(check_program_name(parts));
  const CompatLauncher* const compat = compat_behind(parts);
  if (compat != nullptr) {
    const std::string called = "muster " + command_of(*compat);
    const CompatNames words{*compat, called, std::span(parts.program).subspan(1)};
    return read_compat(line, words, own_options(), snapshot, read_text);
  }
  line.program = std::move(parts.program);
  if (!parts.is_set_apart) {
    notice_own_options(line);
  }
  return read_own_variables(snapshot.variables, own_options(), line.settings);
}

}  // namespace

Result<> read_render_line(CommandLine& line, std::span<const std::string> tokens) {
  if (!tokens.empty() && !tokens.front().starts_with('-')) {
    line.settings.set(kRenderKind, {tokens.front(), from_flag(kRenderKind)});
    tokens = tokens.subspan(1);
  }
  SplitLine parts = cut(tokens, kRenderOptions);
  line.program = std::move(parts.program);
  return read_flags(parts.options, kRenderOptions, line.settings);
}

Result<> read_options_line(CommandLine& line, std::span<const std::string> tokens) {
  const Subcommand& subcommand = *find_subcommand(line.command);
  const OptionTable table = *subcommand.options;
  std::vector<std::string> flags;
  bool is_value = false;
  for (const std::string& token : tokens) {
    if (!is_value && !token.starts_with('-')) {
      TRY(read_flags(flags, table, line.settings));  // the word may be the value of an unknown option
      return Error{ErrorKind::BadUsage,
                   "'" + token + "' is not a word that muster " + subcommand.name + " takes; it has only options"};
    }
    const Option* const option =
        !is_value && token.starts_with("--") ? table.find(with_dashes(token).substr(2)) : nullptr;
    flags.push_back(is_value ? token : with_dashes(token));
    is_value = option != nullptr && option->argument != nullptr;
  }
  return read_flags(flags, table, line.settings);
}

Result<Settings> read_settings_of(std::span<const std::string> tokens) {
  Settings settings;
  TRY(read_flags(cut(tokens, own_options()).options, own_options(), settings));
  return settings;
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
  return read_compat(line, words, own_options(), Snapshot(), read_regular_file) ? line.settings : settings;
}

Result<CommandLine> read_command_line(std::span<char* const> argv, const Snapshot& snapshot,
                                      const ReadText& read_text) {
  CommandLine line;
  line.words.assign(argv.begin(), argv.end());
  const std::vector<std::string> tokens(argv.begin() + (argv.empty() ? 0 : 1), argv.end());
  const std::string name = argv.empty() ? "" : argv.front();
  const auto compat = TRY(compat_of(name));
  TRY(compat != nullptr ? read_compat(line, {*compat, command_of(*compat), tokens}, own_options(), snapshot, read_text)
                        : read_own_command_line(line, tokens, snapshot, read_text));
  if (find_subcommand(line.command) == nullptr) {
    TRY(read_run_method(line, snapshot));
  }
  return line;
}

}  // namespace muster
