// Lists the options of Open MPI's mpirun, of 4.1 and 5, and translates its lines, also those of several programs.
// Facts: "mpirun --help all" of 4.1.4; docs.open-mpi.org, "mpirun" and "prterun" of 5.0.
#include "compat/mpirun.hpp"

#include "base/text.hpp"
#include "compat/host_placing.hpp"
#include "compat/tokens.hpp"
#include "modes/agent_call.hpp"
#include "modes/mpi_request.hpp"
#include "options/syntax.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

namespace muster {
namespace {

using enum OptionSupport;

constexpr const char* kCount =
    "Number of processes of the job. muster fills the slots of the hosts in the order of the hosts. Without this "
    "option, it fills all slots.";

constexpr const char* kPerNode = "Number of processes on each node. With -np, no node gets more than N.";

constexpr const char* kHosts =
    "muster starts one agent on each of these hosts, through ssh. If a platform already starts muster on as many nodes "
    "as the list has hosts, muster ignores the list. A host without a number has one slot for each accelerator, or "
    "with -np an even share of the "
    "processes.";

constexpr const char* kShown = "mpirun prints this. For ranks that muster itself starts, 'muster plan' shows it.";

constexpr const char* kFolder =
    "The folder in which the ranks start, on each host. The folder must exist, and ./program means a "
    "program in it.";

constexpr const char* kHydra = "only MPICH and Intel MPI have this option; muster starts ranks of Open MPI";

constexpr const char* kHydrasVariables =
    "only MPICH and Intel MPI have this option; with Open MPI, write -x NAME=VALUE";
constexpr const char* kHydrasCount = "only MPICH and Intel MPI have this option; with Open MPI, write -N";

constexpr const char* kNeedsMpirun = "Only mpirun has this feature, so muster starts mpirun.";

/// An option that muster reads, and passes to mpirun as well if mpirun is started.
constexpr CompatOption shared(const char* name, const char* argument, OptionSupport support, const char* note) {
  return {name, '\0', argument, support, note, nullptr, nullptr, false, true, true};
}

constexpr CompatOption passed(const char* name, char letter, const char* argument) {
  return {name, letter, argument, Passed, kNeedsMpirun, nullptr, nullptr, false, true, true};
}

constexpr CompatOption of_hydra(const char* name, const char* note = kHydra) {
  return {name, '\0', nullptr, Refused, note};
}

constexpr auto kMpirunTable = std::to_array<CompatOption>({
    option("np", 'c', "N", Better, kCount),
    option("n", '\0', "N", Better, kCount),
    option("host", 'H', "HOSTS", Better, kHosts),
    option("hostfile", '\0', "FILE", Better, kHosts),
    option("machinefile", '\0', "FILE", Better, kHosts),
    option("default-hostfile", '\0', "FILE", Better, kHosts),
    option("x", '\0', "NAME[=VALUE]", Better, "The variable reaches every rank byte for byte, whatever is in it."),
    option("npernode", '\0', "N", Same, kPerNode),
    option("N", '\0', "N", Same, kPerNode),
    option("pernode", '\0', nullptr, Same, "One process on each node."),
    shared("mca", "NAME VALUE", Better,
           "muster sets OMPI_MCA_NAME for ranks that it starts itself. It passes no parameter plm* on, because muster "
           "itself decides how daemons start."),
    shared("gmca", "NAME VALUE", Better, "Does the same as --mca."),
    shared("pmixmca", "NAME VALUE", Better, "Does the same as --mca, but with PMIX_MCA_NAME."),
    passed("prtemca", '\0', "NAME VALUE"),
    shared("bind-to", "WHAT", Better,
           "With none, the default, muster binds no rank. With core, each rank gets a share of the cores. With socket, "
           "numa or l3cache, muster binds each rank to one of these. muster passes all other values to mpirun."),
    shared("map-by", "HOW", Better,
           "slot is the default. ppr:N:node means N processes on each node. OVERSUBSCRIBE after a colon means the "
           "same as --oversubscribe. muster passes all other values to mpirun."),
    shared("rank-by", "HOW", Better, "muster itself places ranks by slot, and passes all other values to mpirun."),
    shared("byslot", nullptr, Same, "muster places ranks by slot even without this option."),
    passed("bynode", '\0', nullptr),
    shared("allow-run-as-root", nullptr, Same, "muster never asks whether root may run the program."),
    shared("oversubscribe", nullptr, Same,
           "If there are more processes than slots, the hosts get the remaining processes in turn."),
    shared("nooversubscribe", nullptr, Same, "muster does this even without the option."),
    shared("tag-output", nullptr, Better,
           "Each line begins with its rank, unless the job has only one rank. muster always writes whole lines."),
    shared("output-filename", "DIR", Better,
           "The name of a file has the attempt and the rank. If muster starts mpirun, mpirun writes its own files as "
           "well."),
    shared("stdin", "WHO", Better,
           "Rank 0, another rank of the same node, or none. muster passes the value all to mpirun. Standard input does "
           "not reach other hosts."),
    shared("quiet", nullptr, Same, "muster prints little even without this option."),
    shared("q", nullptr, Same, "muster prints little even without this option."),
    {"max-restarts", '\0', "N", Better, "muster always starts all ranks again together.", "max-restarts"},
    {"V", '\0', nullptr, Better, "The version of muster.", "version"},
    shared("report-bindings", nullptr, Better, kShown),
    shared("display-map", nullptr, Better, kShown),
    shared("display-allocation", nullptr, Better, kShown),
    shared("display", "WHAT", Better, kShown),
    shared("wdir", "FOLDER", Same, kFolder),
    shared("wd", "FOLDER", Same, kFolder),
    shared("leave-session-attached", nullptr, Same, "muster does this even without the option."),
    passed("am", '\0', "FILES"),
    passed("tune", '\0', "FILES"),
    passed("bind-to-core", '\0', nullptr),
    passed("bind-to-socket", '\0', nullptr),
    passed("bycore", '\0', nullptr),
    passed("cartofile", '\0', "FILE"),
    passed("continuous", '\0', nullptr),
    passed("cpu-list", '\0', "CPUS"),
    passed("cpu-set", '\0', "CPUS"),
    passed("cpus-per-proc", '\0', "N"),
    passed("cpus-per-rank", '\0', "N"),
    passed("debug", '\0', nullptr),
    passed("debug-daemons", '\0', nullptr),
    passed("debug-daemons-file", '\0', nullptr),
    passed("debug-devel", 'd', nullptr),
    passed("debugger", '\0', "NAMES"),
    passed("disable-recovery", '\0', nullptr),
    passed("display-devel-allocation", '\0', nullptr),
    passed("display-devel-map", '\0', nullptr),
    passed("display-diffable-map", '\0', nullptr),
    passed("display-topo", '\0', nullptr),
    passed("do-not-resolve", '\0', nullptr),
    passed("enable-instant-on-support", '\0', nullptr),
    passed("enable-recovery", '\0', nullptr),
    passed("fwd-mpirun-port", '\0', nullptr),
    passed("get-stack-traces", '\0', nullptr),
    passed("index-argv-by-rank", '\0', nullptr),
    passed("max-vm-size", '\0', "N"),
    passed("merge-stderr-to-stdout", '\0', nullptr),
    passed("noprefix", '\0', nullptr),
    passed("novm", '\0', nullptr),
    passed("npersocket", '\0', "N"),
    passed("ompi-server", '\0', "URI"),
    passed("output", '\0', "WHAT"),
    passed("output-proctable", '\0', nullptr),
    passed("path", '\0', "FOLDERS"),
    passed("personality", '\0', "NAMES"),
    passed("ppr", '\0', "LIST"),
    passed("prefix", '\0', "FOLDER"),
    passed("preload-binary", 's', nullptr),
    passed("preload-files", '\0', "FILES"),
    passed("rankfile", '\0', "FILE"),
    passed("report-child-jobs-separately", '\0', nullptr),
    passed("report-events", '\0', "URI"),
    passed("report-pid", '\0', "WHERE"),
    passed("report-state-on-timeout", '\0', nullptr),
    passed("report-uri", '\0', "WHERE"),
    passed("rf", '\0', "FILE"),
    passed("runtime-options", '\0', "WHAT"),
    passed("set-cwd-to-session-dir", '\0', nullptr),
    passed("show-progress", '\0', nullptr),
    passed("stream-buffering", '\0', "HOW"),
    passed("timeout", '\0', "SECONDS"),
    passed("timestamp-output", '\0', nullptr),
    passed("tv", '\0', nullptr),
    passed("use-hwthread-cpus", '\0', nullptr),
    passed("use-regexp", '\0', nullptr),
    passed("xml", '\0', nullptr),
    passed("xml-file", '\0', "FILE"),
    passed("xterm", '\0', "RANKS"),
    option("launch-agent", '\0', "COMMAND", Ignored, "muster itself decides how daemons start"),
    option("app", '\0', "FILE", Refused, "muster reads the program from the command line only"),
    option("do-not-launch", '\0', nullptr, Refused, "'muster plan' prints what muster would start"),
    option("dvm", '\0', nullptr, Refused, "muster starts jobs, not a virtual machine for later jobs"),
    option("hnp", '\0', "URI", Refused, "muster starts its own jobs, and joins no mpirun"),
    option("nolocal", '\0', nullptr, Refused, "list only the hosts on which processes shall run"),
    of_hydra("bootstrap"),
    of_hydra("env", kHydrasVariables),
    of_hydra("envall", kHydrasVariables),
    of_hydra("envlist", kHydrasVariables),
    of_hydra("f", "only MPICH and Intel MPI have this option; with Open MPI, write --hostfile"),
    of_hydra("genv", kHydrasVariables),
    of_hydra("genvall", kHydrasVariables),
    of_hydra("genvlist", kHydrasVariables),
    of_hydra("iface"),
    of_hydra("launcher"),
    of_hydra("perhost", kHydrasCount),
    of_hydra("ppn", kHydrasCount),
    of_hydra("prepend-rank"),
    of_hydra("print-rank-map"),
    of_hydra("rmk"),
});

}  // namespace

std::span<const CompatOption> mpirun_options() {
  return kMpirunTable;
}

// Cuts an mpirun line at each ":" into its programs.

namespace {

using Words = std::vector<std::string>;

bool is_count(const std::string& name) {
  return name == "np" || name == "n";
}

/// The words for mpirun of one further program; they begin with ":".
struct OtherProgram {
  int processes = 0;
  Words words;
};

/// The words for mpirun of one option. Only its variables become settings of all programs; mpirun does the rest.
Words take_option(Translation& t, const TypedOption& typed) {
  Translation own{t.snapshot, t.line, t.read_text, t.is_whole, {}, {}, {}};
  Words words = mpirun_words_of(own, typed);
  if (typed.name == "x") {
    t.settings.merge(own.settings);
  }
  return words;
}

/// Reads the number of processes and the options for mpirun.
Result<OtherProgram> read_options(Translation& t, const std::vector<TypedOption>& options) {
  OtherProgram other;
  for (const TypedOption& typed : options) {
    if (!typed.option->is_passed && !is_count(typed.name) && typed.name != "x") {
      return Error{ErrorKind::BadUsage,
                   typed.source + " is after ':', expected it in front of the first program: it is for all of them"};
    }
    if (is_count(typed.name)) {
      other.processes = parse_integer(typed.values.front(), 1, kMostProcesses).value_or(0);
      continue;
    }
    const Words words = take_option(t, typed);
    other.words.insert(other.words.end(), words.begin(), words.end());
  }
  return other;
}

Result<OtherProgram> read_program(Translation& t, const Words& words) {
  const auto read = TRY(read_tokens(*t.line.compat, words, nullptr));
  if (read.program.empty()) {
    return Error{ErrorKind::BadUsage, "there is no program after ':'"};
  }
  auto other = TRY(read_options(t, read.typed));
  if (other.processes == 0) {
    return Error{ErrorKind::BadUsage,
                 "'" + read.program.front() +
                     "' has no number of processes, expected -np N for each program where there are several"};
  }
  other.words.insert(other.words.begin(), {":", "-np", std::to_string(other.processes)});
  other.words.insert(other.words.end(), {"{muster}", std::string(mpi::kRankWord)});
  other.words.insert(other.words.end(), read.program.begin(), read.program.end());
  return other;
}

/// Moves all programs but the first to the words for mpirun, since only mpirun can start several. Reads muster's part
/// of their options and passes the rest on. Returns the number of their processes; 0: there is one program. Fails for
/// a program without a number of processes, or with hosts of its own.
Result<int> take_other_programs(Translation& t) {
  Words& program = t.line.program;
  auto end = std::ranges::find(program, ":");
  if (end == program.end()) {
    return 0;
  }
  const Words rest(end, program.end());
  program.erase(end, program.end());
  int processes = 0;
  Words words;
  for (auto at = rest.begin(); at != rest.end();) {
    const auto next = std::find(at + 1, rest.end(), ":");
    const auto other = TRY(read_program(t, Words(at + 1, next)));
    processes += other.processes;
    words.insert(words.end(), other.words.begin(), other.words.end());
    at = next;
  }
  t.set(kMpirunPrograms, {quoted_words(words), from_flag("':'")});
  t.set(kOnlyMpirun, {"':'", from_flag("':'")});
  return processes;
}

// Translates an mpirun line: the number of processes, their hosts and their variables.

/// Fails if muster was started in place of the mpirun that muster itself had started.
Result<> check_no_circle(const Translation& t) {
  return t.snapshot.has(mpi::variable::kShared)
             ? Result<>(Error{ErrorKind::NotExecutable,
                              "muster has started mpirun, but the mpirun in PATH leads back to muster; put the "
                              "folder of Open MPI's mpirun in front"})
             : Result<>();
}

/// mpirun also searches this directory for a plain file name.
constexpr const char* kParameterFolder = ".openmpi/amca-param-sets";

bool is_there(const Translation& t, const std::string& file) {
  const std::filesystem::path here(t.snapshot.working_directory);
  const std::filesystem::path home(t.snapshot.variable("HOME").value_or("/"));
  std::error_code ignored;  // a file that cannot be examined cannot be read either
  const bool is_plain = file.find('/') == std::string::npos;
  return std::filesystem::exists(here / file, ignored) ||
         (is_plain && std::filesystem::exists(home / kParameterFolder / file, ignored));
}

/// Fails for a missing --tune file, without which mpirun would go on silently.
Result<> check_files(const Translation& t) {
  const auto tune = t.find("tune");
  const std::vector<std::string> files = tune ? split(tune->value, ',') : std::vector<std::string>();
  for (const std::string& file : files) {
    if (!is_there(t, file)) {
      return wrong_value({file, tune->source}, "a file that can be read");
    }
  }
  return {};
}

}  // namespace

Result<> translate_mpirun(Translation& t) {
  for (const auto check : {check_no_circle, check_files}) {
    TRY(check(t));
  }
  t.set("no-python", {"1", default_of("mpirun")});
  // Collects the options for mpirun, and the reasons why muster cannot start the ranks itself.
  std::vector<std::string> words;
  for (const TypedOption& typed : t.typed) {
    const std::vector<std::string> passed = mpirun_words_of(t, typed);
    words.insert(words.end(), passed.begin(), passed.end());
  }
  if (!words.empty()) {
    t.set(kMpirunWords, {quoted_words(words), from_flag("mpirun")});
  }
  const auto others = TRY(take_other_programs(t));
  // Drops muster's binding where mpirun starts the ranks, since mpirun binds them.
  const auto method = t.line.settings.find("mpi-start");
  const bool is_by_mpirun =
      method && (method->value == name_of(MpiStart::Agent) || method->value == name_of(MpiStart::Ssh));
  if (is_by_mpirun || t.settings.contains(kOnlyMpirun)) {
    t.settings.erase("numa-binding");
  }
  return translate_placing(t, others);
}

}  // namespace muster
