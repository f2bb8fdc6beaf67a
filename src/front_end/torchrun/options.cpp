// torchrun's options, of torch 2.13 and of what came after it, and what becomes of each.
#include <muster/front_end/front_end.hpp>

#include <array>

namespace muster {

namespace {

constexpr auto kTable = std::to_array<FrontOption>({
    {"nnodes",
     '\0',
     "N",
     Fate::Better,
     "N or MIN:MAX. Where nothing says how many, the platform does, instead of 1.",
     "nnodes"},
    {"nproc-per-node",
     '\0',
     "N",
     Fate::Same,
     "A number, auto, gpu, cpu, npu or xpu; 1 if it is not given. Cores are those that may be "
     "used.",
     "nproc-per-node",
     "auto gpu cpu npu xpu"},
    {"rdzv-backend",
     '\0',
     "NAME",
     Fate::Better,
     "static: ranks are given. c10d: they go by arrival, and who owns the endpoint's address "
     "leads. "
     "etcd and etcd-v2: the nodes meet at --master-addr or where the platform says; no etcd is "
     "needed.",
     nullptr,
     "static c10d etcd etcd-v2"},
    {"rdzv-endpoint",
     '\0',
     "HOST[:PORT]",
     Fate::Better,
     "Where the nodes meet. On one node nobody needs to meet, and no two jobs clash there."},
    {"rdzv-id",
     '\0',
     "NAME",
     Fate::Better,
     "The job's name. An agent that names another job is refused, instead of mixed in.",
     "job-id"},
    {"rdzv-conf",
     '\0',
     "KEY=VALUE,...",
     Fate::Better,
     "Each key is understood, whatever the backend; one that nobody knows is named."},
    {"standalone",
     '\0',
     nullptr,
     Fate::Same,
     "One node, a free port. What is said about nodes and where they meet is left out, a "
     "platform's "
     "word as well."},
    {"max-restarts",
     '\0',
     "N",
     Fate::Better,
     "One budget for the job and not for each agent; all nodes restart together.",
     "max-restarts"},
    {"monitor-interval",
     '\0',
     "SECONDS",
     Fate::Ignored,
     "nothing is polled, the end of a worker is seen at once"},
    {"start-method",
     '\0',
     "NAME",
     Fate::Ignored,
     "each worker is a program of its own",
     nullptr,
     "spawn fork forkserver",
     true},
    {"event-log-handler",
     '\0',
     "NAME",
     Fate::Ignored,
     "it names Python code; --report FILE writes what happened"},
    {"role",
     '\0',
     "NAME",
     Fate::Same,
     "The value of ROLE_NAME; ROLE_RANK and ROLE_WORLD_SIZE count over the nodes that have the "
     "same.",
     "set:role_name"},
    {"module", 'm', nullptr, Fate::Same, "The script is the name of a Python module."},
    {"no-python", '\0', nullptr, Fate::Same, "The script is executed itself.", "no-python"},
    {"run-path",
     '\0',
     nullptr,
     Fate::Better,
     "The script is run by Python, under a relative path as well, and without this launcher's "
     "modules in it."},
    {"log-dir",
     '\0',
     "DIR",
     Fate::Same,
     "Has the files that -r and -t ask for, and error files, under torchrun's names: <run "
     "id>_<random>/attempt_0/0/stdout.log, stderr.log and error.json.",
     "log-dir"},
    {"redirects",
     'r',
     "WHAT",
     Fate::Better,
     "Local ranks of several digits work, such as 0:1,11:2.",
     "redirects"},
    {"tee", 't', "WHAT", Fate::Better, "Likewise, and lines are whole.", "tee"},
    {"local-ranks-filter",
     '\0',
     "RANKS",
     Fate::Same,
     "Shows only these local ranks on the console."},
    {"duplicate-stdout-filters",
     '\0',
     "WORDS",
     Fate::Same,
     "Lines of output that hold one of the words go to a file of their own as well."},
    {"duplicate-stderr-filters", '\0', "WORDS", Fate::Same, "Likewise for standard error."},
    {"node-rank",
     '\0',
     "R",
     Fate::Better,
     "If it is not given, the platform says it. With c10d and an endpoint it is ignored, as "
     "torchrun "
     "does.",
     "node-rank"},
    {"master-addr",
     '\0',
     "HOST",
     Fate::Same,
     "Brackets around an address of IPv6 may be there or not."},
    {"master-port",
     '\0',
     "PORT",
     Fate::Same,
     "29500 if there are several nodes and it is not given; on one node a free port.",
     "master-port"},
    {"local-addr",
     '\0',
     "HOST",
     Fate::Ignored,
     "nodes are found by the connection that they make, none needs to name itself"},
    {"logs-specs",
     '\0',
     "NAME",
     Fate::Same,
     "default is the only one that torchrun itself has, and the only one here: others are Python "
     "code.",
     nullptr,
     "default",
     true,
     false},
    {"numa-binding",
     '\0',
     "HOW",
     Fate::Better,
     "By system calls: no numactl is needed, and any accelerator will do.",
     "numa-binding",
     "node socket exclusive core-complex",
     true,
     false},
    {"signals-to-handle",
     '\0',
     "SIGNALS",
     Fate::Better,
     "These end the job, from the first moment on. USR1, USR2 and WINCH are passed on if they are "
     "not named.",
     "signals-to-handle"},
    {"shutdown-timeout",
     '\0',
     "SECONDS",
     Fate::Better,
     "The time between SIGTERM and SIGKILL, on every path; fractions are allowed. Else "
     "TORCH_ELASTIC_SHUTDOWN_TIMEOUT, else 30.",
     "grace"},
    {"virtual-local-rank",
     '\0',
     nullptr,
     Fate::Same,
     "Each worker sees one accelerator and LOCAL_RANK=0.",
     "virtual-local-rank"},
    {"log-line-prefix-template",
     '\0',
     "TEXT",
     Fate::Same,
     "What console lines begin with. Else TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE."},
});

}  // namespace

std::span<const FrontOption> torchrun_options() {
  return kTable;
}

std::span<const FrontOption> torch_launch_options() {
  // The rows of torchrun, and one more.
  static constexpr auto kOptions = [] {
    std::array<FrontOption, kTable.size() + 1> options{};
    std::copy(kTable.begin(), kTable.end(), options.begin());
    options.back() = {"use-env",
                      '\0',
                      nullptr,
                      Fate::Same,
                      "No --local-rank is given to the script; LOCAL_RANK is always set.",
                      nullptr,
                      nullptr,
                      false,
                      false};
    return options;
  }();
  return kOptions;
}

}  // namespace muster
