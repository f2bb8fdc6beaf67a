// Lists the options of horovodrun, of Horovod 0.28, and translates them to those of mpirun.
// Facts: horovod/runner/launch.py and horovod/runner/common/util/config_parser.py.
#include "compat/horovodrun.hpp"

#include "base/text.hpp"
#include "compat/host_placing.hpp"
#include "compat/stale_variables.hpp"
#include "compat/tokens.hpp"
#include "options/syntax.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <limits>
#include <set>

namespace muster {
namespace {

using enum OptionSupport;

constexpr const char* kHorovodElastic =
    "muster starts no elastic Horovod; --nnodes MIN:MAX with --max-restarts starts the job again with the nodes that "
    "are there";

constexpr const char* kOverMpi =
    "muster starts Horovod's ranks as ranks of MPI, in mode mpirun; leave this option out, and use a Horovod that is "
    "built with MPI";

constexpr const char* kOfElastic = "this option is for elastic jobs only";

constexpr const char* kNoTime = "each line begins with its rank, and has no time";

constexpr const char* kBuild = "this option starts no job; horovodrun itself prints how Horovod was built";

constexpr const char* kOfMpirun = "Takes the options of mpirun that 'muster mpirun' also takes.";

/// An option that sets a variable of the ranks.
constexpr CompatOption exports(const char* name, const char* argument, const char* variable) {
  return option(name, '\0', argument, Same, variable);
}

constexpr CompatOption set(CompatOption row, const char* setting) {
  row.setting = setting;
  return row;
}

/// Another name of an option, with the same effect.
constexpr CompatOption alias(CompatOption row, const char* same_as) {
  row.same_as = same_as;
  return row;
}

constexpr CompatOption chosen(CompatOption row, const char* choices) {
  row.choices = choices;
  row.is_strict = true;
  return row;
}

constexpr auto kHorovodrunOptions = std::to_array<CompatOption>({
    option("num-proc", '\0', "N", Better,
           "Number of processes of the job. muster fills the slots of the hosts in the order of the hosts. Without "
           "this option, it fills all slots."),
    behind_one_dash(option("np", 'n', "N", Better, "Does the same as --num-proc."), "num-proc"),
    option("hosts", 'H', "HOSTS", Better,
           "muster starts one agent on each of these hosts, through ssh. If a platform already starts muster on as "
           "many nodes "
           "as the list has hosts, muster ignores the list."),
    option("hostfile", '\0', "FILE", Better, "The hosts of the job, one on each line of the file."),
    behind_one_dash(option("hostfile", '\0', "FILE", Better, "Does the same as --hostfile."), "hostfile"),
    option("gloo", '\0', nullptr, Refused, kOverMpi),
    option("mpi", '\0', nullptr, Same, "muster always starts the ranks as ranks of MPI."),
    option("jsrun", '\0', nullptr, Refused, "start muster by jsrun, one process on each node, and leave --jsrun out"),
    option("ssh-port", 'p', "PORT", Same, "Does the same as --remote-shell 'ssh -p PORT'."),
    option("ssh-identity-file", 'i', "FILE", Same, "Does the same as --remote-shell 'ssh -i FILE'."),
    set(option("start-timeout", '\0', "SECONDS", Better,
               "How long muster waits for all nodes. Without this option muster reads HOROVOD_START_TIMEOUT. If both "
               "are missing, the default of --gang-timeout applies, not 30."),
        "gang-timeout"),
    option("network-interfaces", '\0', "LIST", Same, "OMPI_MCA_btl_tcp_if_include and NCCL_SOCKET_IFNAME."),
    alias(option("network-interface", '\0', "LIST", Same,
                 "muster uses these network interfaces. You may give this option several times."),
          "network-interfaces"),
    set(option("output-filename", '\0', "DIR", Better,
               "The name of a file has the attempt and the global rank. The console shows the lines as well."),
        "log-dir"),
    set(option("verbose", '\0', nullptr, Same, "muster says more."), "verbose"),
    set(option("version", 'v', nullptr, Better, "The version of muster."), "version"),
    option("config-file", '\0', "FILE", Same,
           "A file in YAML or JSON. An option on the line takes precedence over the file, before --config-file or "
           "after it."),
    option("mpi-args", '\0', "OPTIONS", Same, kOfMpirun),
    option("binding-args", '\0', "OPTIONS", Same, kOfMpirun),
    exports("tcp", nullptr, "NCCL_IB_DISABLE"),
    exports("fusion-threshold-mb", "N", "muster sets HOROVOD_FUSION_THRESHOLD, in bytes."),
    exports("cycle-time-ms", "MILLISECONDS", "HOROVOD_CYCLE_TIME"),
    exports("cache-capacity", "N", "HOROVOD_CACHE_CAPACITY"),
    exports("hierarchical-allreduce", nullptr, "HOROVOD_HIERARCHICAL_ALLREDUCE"),
    exports("no-hierarchical-allreduce", nullptr, "muster sets HOROVOD_HIERARCHICAL_ALLREDUCE to 0."),
    exports("hierarchical-allgather", nullptr, "HOROVOD_HIERARCHICAL_ALLGATHER"),
    exports("no-hierarchical-allgather", nullptr, "muster sets HOROVOD_HIERARCHICAL_ALLGATHER to 0."),
    exports("torus-allreduce", nullptr, "HOROVOD_TORUS_ALLREDUCE"),
    exports("no-torus-allreduce", nullptr, "muster sets HOROVOD_TORUS_ALLREDUCE to 0."),
    exports("autotune", nullptr, "HOROVOD_AUTOTUNE"),
    option("no-autotune", '\0', nullptr, Same, "muster does not set HOROVOD_AUTOTUNE, even if the file asks for it."),
    exports("autotune-log-file", "FILE",
            "muster sets HOROVOD_AUTOTUNE_LOG. This option and the next four options need --autotune."),
    exports("autotune-warmup-samples", "N", "HOROVOD_AUTOTUNE_WARMUP_SAMPLES"),
    exports("autotune-steps-per-sample", "N", "HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE"),
    exports("autotune-bayes-opt-max-samples", "N", "HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES"),
    exports("autotune-gaussian-process-noise", "VALUE", "HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE"),
    exports("timeline-filename", "FILE", "HOROVOD_TIMELINE"),
    exports("timeline-mark-cycles", nullptr,
            "muster sets HOROVOD_TIMELINE_MARK_CYCLES. This option and the next one need --timeline-filename."),
    exports("no-timeline-mark-cycles", nullptr, "muster sets HOROVOD_TIMELINE_MARK_CYCLES to 0."),
    exports("no-stall-check", nullptr, "HOROVOD_STALL_CHECK_DISABLE"),
    exports("stall-check", nullptr, "muster sets HOROVOD_STALL_CHECK_DISABLE to 0."),
    exports("stall-check-warning-time-seconds", "N", "HOROVOD_STALL_CHECK_TIME_SECONDS"),
    exports("stall-check-shutdown-time-seconds", "N", "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS"),
    exports("mpi-threads-disable", nullptr, "HOROVOD_MPI_THREADS_DISABLE"),
    exports("no-mpi-threads-disable", nullptr, "muster sets HOROVOD_MPI_THREADS_DISABLE to 0."),
    exports("num-nccl-streams", "N", "HOROVOD_NUM_NCCL_STREAMS"),
    exports("thread-affinity", "N", "HOROVOD_THREAD_AFFINITY"),
    exports("gloo-timeout-seconds", "N", "HOROVOD_GLOO_TIMEOUT_SECONDS"),
    chosen(exports("log-level", "LEVEL", "HOROVOD_LOG_LEVEL"), "TRACE DEBUG INFO WARNING ERROR FATAL"),
    exports("log-without-timestamp", nullptr, "HOROVOD_LOG_HIDE_TIME"),
    alias(exports("log-hide-timestamp", nullptr, "HOROVOD_LOG_HIDE_TIME"), "log-without-timestamp"),
    exports("log-with-timestamp", nullptr, "muster sets HOROVOD_LOG_HIDE_TIME to 0."),
    alias(exports("no-log-hide-timestamp", nullptr, "muster sets HOROVOD_LOG_HIDE_TIME to 0."), "log-with-timestamp"),
    option("disable-cache", '\0', nullptr, Ignored,
           "muster does not test the hosts beforehand; it names each host that it cannot reach"),
    option("prefix-output-with-timestamp", '\0', nullptr, Ignored, kNoTime),
    behind_one_dash(option("prefix-timestamp", '\0', nullptr, Ignored, kNoTime), "prefix-output-with-timestamp"),
    option("max-np", '\0', "N", Ignored, kOfElastic),
    alias(option("max-num-proc", '\0', "N", Ignored, kOfElastic), "max-np"),
    option("slots-per-host", '\0', "N", Ignored, kOfElastic),
    option("elastic-timeout", '\0', "SECONDS", Ignored, kOfElastic),
    option("reset-limit", '\0', "N", Ignored, kOfElastic),
    option("blacklist-cooldown-range", '\0', "LEAST MOST", Ignored, kOfElastic),
    option("min-np", '\0', "N", Refused, kHorovodElastic),
    alias(option("min-num-proc", '\0', "N", Refused, kHorovodElastic), "min-np"),
    option("host-discovery-script", '\0', "FILE", Refused, kHorovodElastic),
    option("check-build", '\0', nullptr, Refused, kBuild),
    behind_one_dash(option("cb", '\0', nullptr, Refused, kBuild), "check-build"),
});

}  // namespace

std::span<const CompatOption> horovodrun_options() {
  return kHorovodrunOptions;
}

}  // namespace muster

namespace muster {

// Makes the mpirun line that horovodrun would make, and reads it. Facts: horovod/runner/mpi_run.py of Horovod 0.28.

namespace {

using Strings = std::vector<std::string>;

/// Options that place the ranks, with mpirun's names of them.
constexpr std::array<std::pair<const char*, const char*>, 3> kPlacing = {
    {{"num-proc", "np"}, {"hosts", "host"}, {"hostfile", "hostfile"}}};

/// Name of an mpirun option, without dashes and value.
std::string bare_name(const std::string& word) {
  const std::size_t start = std::min(word.find_first_not_of('-'), word.size());
  return word.substr(start, word.find('=') - start);
}

/// Adds horovodrun's defaults for Open MPI unless the user's options set them.
void add_defaults(Strings& words, const Strings& said, bool is_binding_said) {
  const std::array<Strings, 4> defaults = {Strings{"--bind-to", "none"}, Strings{"--map-by", "slot"},
                                           Strings{"--mca", "pml", "ob1"}, Strings{"--mca", "btl", "^openib"}};
  for (const Strings& theirs : defaults) {
    const bool is_binding = theirs.size() == 2;
    const std::string key = bare_name(theirs[is_binding ? 0 : 1]);
    const bool is_given = std::ranges::any_of(said, [&](const std::string& word) { return bare_name(word) == key; });
    if (!is_given && !(is_binding && is_binding_said)) {
      words.insert(words.end(), theirs.begin(), theirs.end());
    }
  }
}

/// The line that horovodrun makes for mpirun, without the options that muster does not need.
Result<Strings> mpirun_line_of(const Translation& t) {
  Strings words;
  for (const auto& [name, theirs] : kPlacing) {
    if (const auto value = t.find(name)) {
      words.insert(words.end(), {std::string("--") + theirs, value->value});
    }
  }
  Strings said;
  for (const char* const name : {"binding-args", "mpi-args"}) {
    const auto options = t.find(name);
    const auto more = TRY(options ? split_words(*options) : Result<Strings>(Strings()));
    said.insert(said.end(), more.begin(), more.end());
  }
  add_defaults(words, said, t.find("binding-args").has_value());
  words.insert(words.end(), said.begin(), said.end());
  return words;
}

/// Reads the line that horovodrun makes for mpirun with muster's mpirun front end. Fails for options that mpirun does
/// not have.
Result<> translate_as_mpirun(Translation& t) {
  const CompatLauncher& mpirun = *find_compat("mpirun");
  const auto words = TRY(mpirun_line_of(t));
  auto tokens = TRY(read_tokens(mpirun, words, nullptr));
  if (!tokens.program.empty()) {
    const auto extra = t.find("mpi-args");
    return wrong_value(extra ? *extra : t.given.at("binding-args"), "options of mpirun and no program");
  }
  for (TypedOption& typed : tokens.typed) {  // messages name what the user wrote
    const auto at = std::ranges::find_if(kPlacing, [&](const auto& one) { return typed.name == one.second; });
    const auto own = at == kPlacing.end() ? std::nullopt : t.find(at->first);
    typed.source = own ? own->source.name : typed.source;
  }
  return translate_as(mpirun, t, std::move(tokens));
}

}  // namespace

// Translates the options of horovodrun: the number of ranks, their hosts and their variables.
// Facts: horovod/runner/launch.py of Horovod 0.28.

namespace {

constexpr const char* kStartTimeout = "HOROVOD_START_TIMEOUT";

/// All named network interfaces, each once, in order.
std::vector<std::string> interfaces_of(const Translation& t) {
  std::vector<std::string> all;
  for (const TypedOption& typed : t.typed) {
    if (typed.name == "network-interfaces") {
      std::ranges::copy(split(typed.values.front(), ','), std::back_inserter(all));
    }
  }
  std::set<std::string> seen;
  std::erase_if(all, [&](const std::string& name) { return !seen.insert(name).second; });
  return all;
}

void export_interfaces(Translation& t) {
  const std::vector<std::string> interfaces = interfaces_of(t);
  if (interfaces.empty()) {
    return;
  }
  const Source source = t.given.at("network-interfaces").source;
  t.export_variable("NCCL_SOCKET_IFNAME", {join(interfaces, ","), source});
  t.export_variable("OMPI_MCA_btl_tcp_if_include", {join(interfaces, ","), source});
}

/// Reads "NAME=value" in front of the program as a variable of the program, since the original starts ranks by `env`.
void take_assignments(Translation& t) {
  std::vector<std::string>& program = t.line.program;
  const auto is_assignment = [](const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    return name != word && !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
           std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  };
  const auto first = std::ranges::find_if_not(program, is_assignment);
  for (auto word = program.begin(); word != first; ++word) {
    const std::size_t equals = word->find('=');
    t.export_variable(word->substr(0, equals), {word->substr(equals + 1), from_flag(word->substr(0, equals))});
  }
  program.erase(program.begin(), first);
}

}  // namespace

Result<> translate_horovodrun(Translation& t) {
  TRY(horovodrun::take_configuration(t));
  const auto hosts = t.find("hosts");
  const auto file = t.find("hostfile");
  if (hosts && file) {
    return contradiction(*hosts, *file);
  }
  if (const auto count = t.find("num-proc")) {
    TRY(read_integer(*count, 1, std::numeric_limits<int>::max(), "a number of processes of at least 1"));
  }
  TRY(horovodrun::export_tuning(t));
  export_interfaces(t);
  set_ssh(t, t.find("ssh-port"), t.find("ssh-identity-file"));
  const auto seconds = find_given(t.snapshot, kStartTimeout);
  if (seconds && !t.settings.contains("gang-timeout")) {
    t.set("gang-timeout", *seconds);
  }
  take_assignments(t);
  TRY(translate_as_mpirun(t));
  if (!t.settings.contains("hosts") && !t.settings.contains("hostfile")) {
    drop_stale_variables(t, false);
  }
  return {};
}

}  // namespace muster
