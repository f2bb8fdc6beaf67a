// The options of Open MPI's mpirun, of 4.1 and 5, and what becomes of each.
// Facts: "mpirun --help all" of 4.1.4; docs.open-mpi.org, "mpirun" and "prterun" of 5.0.
#include "compat/front_end.hpp"

#include <array>

namespace muster {
namespace {

constexpr const char* kCount =
    "Processes of the job: the slots of the hosts are filled in their order. Without it, all "
    "slots.";

constexpr const char* kPerNode = "Processes on each node. With -np, at most so many.";

constexpr const char* kHosts =
    "The hosts are started, through ssh. Where the platform starts each node, it is ignored. A "
    "host "
    "without a number has its accelerators as slots, or with -np an even share.";

constexpr const char* kShown =
    "Said by mpirun; of ranks that muster starts itself, 'muster plan' says it.";

constexpr const char* kFolder =
    "Where the ranks start, on each host. It has to be there, and ./program is one of it.";

constexpr const char* kHydra = "it is of MPICH and Intel MPI; muster starts ranks of Open MPI";

constexpr const char* kHydrasVariables =
    "it is of MPICH and Intel MPI; Open MPI's is -x NAME=VALUE";
constexpr const char* kHydrasCount = "it is of MPICH and Intel MPI; Open MPI's is -N";

constexpr const char* kOnlyMpirun = "Only mpirun can do that.";

constexpr CompatOption owned(
    const char* name, char letter, const char* argument, OptionSupport fate, const char* note) {
  return {name, letter, argument, fate, note};
}

/// What muster understands, and gives to mpirun as well where that is started.
constexpr CompatOption shared(const char* name,
                              const char* argument,
                              OptionSupport fate,
                              const char* note) {
  return {name, '\0', argument, fate, note, nullptr, nullptr, false, true, true};
}

constexpr CompatOption passed(const char* name, char letter, const char* argument) {
  return {name,
          letter,
          argument,
          OptionSupport::Passed,
          kOnlyMpirun,
          nullptr,
          nullptr,
          false,
          true,
          true};
}

constexpr CompatOption of_hydra(const char* name, const char* note = kHydra) {
  return {name, '\0', nullptr, OptionSupport::Refused, note};
}

constexpr auto kTable = std::to_array<CompatOption>({
    owned("np", 'c', "N", OptionSupport::Better, kCount),
    owned("n", '\0', "N", OptionSupport::Better, kCount),
    owned("host", 'H', "HOSTS", OptionSupport::Better, kHosts),
    owned("hostfile", '\0', "FILE", OptionSupport::Better, kHosts),
    owned("machinefile", '\0', "FILE", OptionSupport::Better, kHosts),
    owned("default-hostfile", '\0', "FILE", OptionSupport::Better, kHosts),
    owned("x",
          '\0',
          "NAME[=VALUE]",
          OptionSupport::Better,
          "The variable reaches every rank byte for byte, whatever is in it."),
    owned("npernode", '\0', "N", OptionSupport::Same, kPerNode),
    owned("N", '\0', "N", OptionSupport::Same, kPerNode),
    owned("pernode", '\0', nullptr, OptionSupport::Same, "One process on each node."),
    shared("mca",
           "NAME VALUE",
           OptionSupport::Better,
           "Ranks that muster starts itself get OMPI_MCA_NAME. plm* is left out: how daemons "
           "start is muster's."),
    shared("gmca", "NAME VALUE", OptionSupport::Better, "As --mca."),
    shared("pmixmca", "NAME VALUE", OptionSupport::Better, "As --mca, with PMIX_MCA_NAME."),
    passed("prtemca", '\0', "NAME VALUE"),
    shared(
        "bind-to",
        "WHAT",
        OptionSupport::Better,
        "none is how ranks start anyway, core is a share of the cores for each, and socket, numa "
        "and l3cache are those; what else it says, only mpirun can do."),
    shared(
        "map-by",
        "HOW",
        OptionSupport::Better,
        "slot is how ranks are placed anyway, ppr:N:node is N processes on each node, and "
        "OVERSUBSCRIBE behind a colon is --oversubscribe; what else it says, only mpirun can do."),
    shared("rank-by", "HOW", OptionSupport::Better, "slot; what else it says, only mpirun can do."),
    shared("byslot", nullptr, OptionSupport::Same, "How ranks are placed anyway."),
    passed("bynode", '\0', nullptr),
    shared("allow-run-as-root", nullptr, OptionSupport::Same, "Nobody is asked who he is."),
    shared("oversubscribe",
           nullptr,
           OptionSupport::Same,
           "More processes than slots are dealt in turn."),
    shared("nooversubscribe", nullptr, OptionSupport::Same, "So it is anyway."),
    shared("tag-output",
           nullptr,
           OptionSupport::Better,
           "Lines begin with their rank, unless it is the only one, and are whole."),
    shared(
        "output-filename",
        "DIR",
        OptionSupport::Better,
        "Files are named by attempt and rank; where mpirun is started, it writes its own as well."),
    shared("stdin",
           "WHO",
           OptionSupport::Better,
           "Rank 0, another one of the same node, or none; for all, only mpirun can do it. It does "
           "not go to other hosts."),
    shared("quiet", nullptr, OptionSupport::Same, "Muster says little as it is."),
    shared("q", nullptr, OptionSupport::Same, "Muster says little as it is."),
    {"max-restarts",
     '\0',
     "N",
     OptionSupport::Better,
     "All ranks are started again together.",
     "max-restarts"},
    {"V", '\0', nullptr, OptionSupport::Better, "The version of muster.", "version"},
    shared("report-bindings", nullptr, OptionSupport::Better, kShown),
    shared("display-map", nullptr, OptionSupport::Better, kShown),
    shared("display-allocation", nullptr, OptionSupport::Better, kShown),
    shared("display", "WHAT", OptionSupport::Better, kShown),
    shared("wdir", "FOLDER", OptionSupport::Same, kFolder),
    shared("wd", "FOLDER", OptionSupport::Same, kFolder),
    shared("leave-session-attached", nullptr, OptionSupport::Same, "So it is anyway."),
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
    owned("launch-agent", '\0', "COMMAND", OptionSupport::Ignored, "how daemons start is muster's"),
    owned("app",
          '\0',
          "FILE",
          OptionSupport::Refused,
          "muster starts one program, which stands on the command line"),
    owned("do-not-launch",
          '\0',
          nullptr,
          OptionSupport::Refused,
          "'muster plan' says what would be started"),
    owned(
        "dvm", '\0', nullptr, OptionSupport::Refused, "muster starts jobs and no machine for them"),
    owned("hnp", '\0', "URI", OptionSupport::Refused, "muster starts jobs of its own"),
    owned("nolocal",
          '\0',
          nullptr,
          OptionSupport::Refused,
          "list the hosts that are to have processes, and no other"),
    of_hydra("bootstrap"),
    of_hydra("env", kHydrasVariables),
    of_hydra("envall", kHydrasVariables),
    of_hydra("envlist", kHydrasVariables),
    of_hydra("f", "it is of MPICH and Intel MPI; Open MPI's is --hostfile"),
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
  return kTable;
}

}  // namespace muster
