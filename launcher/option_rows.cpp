// Holds the table of muster's options. A new option is a row here, whose reader puts its value into a member of a
// request; code reads only what needs more than its value.
#include "base/text.hpp"
#include "hang/questions.hpp"
#include "modes/agent_call.hpp"
#include "options/readers.hpp"
#include "platforms/cluster.hpp"
#include "requests.hpp"
#include "run/cache_options.hpp"
#include "run/hang_variables.hpp"
#include "run/standby_options.hpp"
#include "standby/standby_rules.hpp"

#include <array>

namespace muster {
namespace {

using gang::ComparesNodes;
using gang::GangOptions;
using gang::OnEarlyExit;
using gang::RestartPolicy;
using gang::ScaleUp;

constexpr auto kOptionRows = std::to_array<Option>({
    {"nproc-per-node", "N", "Job",
     "Workers on this node: a number, or auto (accelerators if there are any, else 1; the default), gpu, npu, xpu, "
     "cpu.",
     kReadByCode, "auto gpu npu xpu cpu"},
    {"devices", "LIST", "Job",
     "Devices of this node for the job, such as 0,2,4-7: a worker for each, and all of them see these. Default: those "
     "that are visible.",
     kInto<&Options::devices, read_text>},
    {"nnodes", "N", "Job", "Nodes of the job, or MIN:MAX such as 2:4. Default: what the platform says, else 1."},
    {"total-workers", "N", "Job",
     "The job is complete when its nodes have so many workers together, as with msrun's --worker_num; instead of "
     "--nnodes."},
    {"node-rank", "R", "Job", "Which of the nodes this is, from 0. Default: what the platform says, else by arrival."},
    {"master-addr", "HOST", "Job", "Address of the node with rank 0, where agents and workers meet."},
    {"master-port", "PORT", "Job", "Port there. Default: 29500; a free port when the job has one node."},
    {"job-id", "NAME", "Job",
     "Name of the job: agents that name another one do not join. Default: what the platform says, else none."},
    {"module", "NAME", "Job", "Run a Python module, as python3 -m does. The rest are its arguments.", kReadByCode,
     nullptr, 'm'},
    {"no-python", nullptr, "Job", "Execute a .py file itself instead of giving it to Python."},
    {"platform", "NAME", "Job",
     "Who describes the cluster: flags, single, or a platform by its name in docs/platforms.md; ^NAME asks all but "
     "that one. Default: detected.",
     kReadByCode, ""},  // with_platforms adds the names
    {"mode", "NAME", "Job",
     "How workers are started: auto, torchrun, msrun, msrun-simulation, ranktable, ps, once, jax, deepspeed, "
     "accelerate, accelerate-single, paddle or mpirun.",
     kReadByCode,
     "auto torchrun msrun msrun-simulation ranktable ps once jax deepspeed accelerate accelerate-single paddle mpirun"},
    {"mpi-start", "WAY", "Job",
     "How ranks of MPI are started: pmix (by muster itself), agent (by mpirun, without ssh), ssh (by mpirun and sshd), "
     "or auto, the default: the first of these that works on all nodes.",
     kReadByCode, "auto pmix agent ssh"},
    {"mpirun-options", "WORDS", "Job",
     "Options that mpirun is given as they are, such as '--mca btl self,tcp'. Only agent and ssh can do that."},
    {"template", "FILE", "Job", "A mode of your own, described in docs/modes.md."},
    {"roles", "NUMBERS", "Job",
     "How many processes of each role the job has, such as chief=1,worker=2,ps=2, dealt to the nodes in turn."},
    {"template-arguments", "WHEN", "Job",
     "Whether the mode's arguments follow the program's own: auto (unless TF_CONFIG comes from the platform), always, "
     "never.",
     kInto<&JobRequest::template_arguments,
           read_word<"auto, always or never", GiveArguments::Auto, GiveArguments::Always, GiveArguments::Never>>,
     "auto always never"},
    {"fill-arguments", nullptr, "Job", "Fill placeholders such as {global_rank} in the program's arguments, too.",
     kInto<&JobRequest::fills_arguments, read_whether_on>},
    {"success-roles", "ROLES", "Job",
     "Roles that must end with 0 for the job to succeed, such as chief,evaluator. Default: what the mode says.",
     kInto<&JobRequest::success_roles, read_success_roles>},
    {"store", "WHO", "Job",
     "Who serves the store by which ranks of PyTorch meet: agent (the leader, so rank 0 may end first) or worker (rank "
     "0). Default: agent under torchrun's command line and MA_RUN_METHOD=torchrun, else worker.",
     kInto<&JobRequest::hosts_store, read_agent_store>, "agent worker"},
    {"virtual-local-rank", nullptr, "Job", "Show each worker its own device alone, and tell it LOCAL_RANK 0.",
     kInto<&JobRequest::masks_devices, read_whether_on>},
    {"set", "NAME=VALUE", "Job",
     "Give a parameter of the mode a value; may be repeated. As a variable: several, separated by blanks."},
    {"rank-table", "WHERE", "Job",
     "The rank table of Ascend devices: a file, the folder in which a controller writes it, or generate: the nodes "
     "make one of what each of them has. Default: where the platform has it.",
     kReadByCode, "generate"},
    {"hccn-conf", "FILE", "Job",
     "The addresses of this node's Ascend devices, where the table is generated: as /etc/hccn.conf, or what hccn_tool "
     "prints. Default: /etc/hccn.conf."},
    {"inputs-timeout", "SECONDS", "Job",
     "How long to wait for files that somebody else writes, such as a rank table, before anything is started. Default: "
     "600.",
     kInto<&GangOptions::inputs_timeout, read_seconds>},
    {"rank-table-timeout", "SECONDS", "Job", "The same where that is a rank table. Default: --inputs-timeout.",
     kInto<&GangOptions::inputs_timeout, read_seconds>},
    {"topology", "FILE", "Job",
     "Lines of a node of the rank table and its switches from the top, such as gpu-0 core/leaf-1: ranks follow the "
     "switches."},
    {"numa-binding", "FORM", "Binding",
     "CPUs near the worker's accelerator: those of its NUMA node (node) or socket, a share of that node for each "
     "worker (exclusive), or the cores of one last-level cache (core-complex).",
     kReadByCode, "node socket exclusive core-complex"},
    {"bind-core", "WHAT", "Binding",
     "CPUs of each worker: True (as exclusive), False, or JSON by device such as {\"device0\":[\"0-9\"]}, or a file of "
     "it that ends in .json.",
     kReadByCode, "True False"},
    {"bind-numa", "WHAT", "Binding",
     "CPUs and memory of each worker by NUMA node: True (those of its accelerator), False, or JSON such as "
     "{\"device0\":[\"0\"]}, or a file that ends in .json.",
     kReadByCode, "True False"},
    {"hosts", "LIST", "Other hosts",
     "Start the agents of the job on these hosts, such as a:8,b:8 or gpu[01-04]:8, the first of which leads."},
    {"hostfile", "FILE", "Other hosts",
     "The same from a file with a host on each line, as mpirun and deepspeed read it."},
    {"remote-shell", "COMMAND", "Other hosts",
     "What executes a command on a host, such as 'ssh -p 2222'. Default: ssh, and inside an allocation of Slurm srun."},
    {"forward-env", "NAMES", "Other hosts",
     "Variables that go along, such as MY_KEY,MY_APP_*, beside the usual ones; 'none' in front: instead of them."},
    {"worker-port", "PORT", "Several nodes",
     "Port on the leader where the workers meet. Default: a free one, new at each start."},
    {"gang-port", "PORT", "Several nodes",
     "Port on the leader where the agents meet. Default: --master-port, or if the workers have that, the port above "
     "it."},
    {"gang-timeout", "SECONDS", "Several nodes",
     "How long to wait for all nodes before anything is started. Default: 900.",
     kInto<&GangOptions::timeout, read_positive_seconds>},
    {"last-call", "SECONDS", "Several nodes",
     "With --nnodes MIN:MAX, how long to wait for more nodes once MIN are here. Default: 30.",
     kInto<&GangOptions::last_call, read_seconds>},
    {"lead", "WHEN", "Several nodes",
     "When this node leads: auto (with node rank 0, without ranks where --master-addr is its own), reached (also once "
     "another node reaches it through that address, as through a Service or a published port), or never. Default: "
     "auto.",
     kInto<&GangOptions::lead, read_lead>},
    {"scale-up", "WHEN", "Several nodes",
     "With --nnodes MIN:MAX, when a node takes part that comes while the job runs: at the next restart (the default), "
     "or now, by starting all workers again, which counts as no restart.",
     kInto<&GangOptions::scale_up, read_word<"restart or now", ScaleUp::AtRestart, ScaleUp::Now>>},
    {"preflight", "WHEN", "Several nodes",
     "Compare drivers, devices, ports, limits, clocks and more of the nodes when they meet, and name a node that "
     "differs from all others: auto (with three nodes and more, the default), strict (a node that differs in devices, "
     "driver, ports, clock or /dev/shm does not take part), or off.",
     kInto<&GangOptions::preflight,
           read_word<"auto, strict or off", ComparesNodes::Auto, ComparesNodes::Strictly, ComparesNodes::Never>>,
     "auto strict off"},
    {"heartbeat-timeout", "SECONDS", "Several nodes",
     "Silence after which a node or the leader is lost, 1 to 3600. Default: 8.",
     kInto<&GangOptions::heartbeat_timeout, read_seconds_from<1, 3600>>},
    {"token-file", "FILE", "Several nodes",
     "Its content is a secret that all agents must share. Or give the secret itself as the variable MUSTER_TOKEN.",
     kInto<&GangOptions::token_file, read_file_name>},
    {"max-restarts", "N", "Restarting", "How often all workers are started again when one fails. Default: 0."},
    {"restart-window", "SECONDS", "Restarting", "Restarts that are older than this do not count. Default: all count.",
     kInto<&RestartPolicy::window, read_positive_seconds>},
    {"restart-backoff", "SECONDS", "Restarting",
     "Wait before the second restart in a row, doubled each time up to a minute; the first one is at once. Default: 1.",
     kInto<&RestartPolicy::backoff, read_seconds>},
    {"no-progress-limit", "N", "Restarting",
     "Attempts in a row without progress after which the job ends with 93; 0 means never. Default: 3.",
     kInto<&RestartPolicy::no_progress_limit, read_number<0, 1'000'000, "a number of attempts">>},
    {"progress-file", "FILE", "Restarting",
     "An attempt made progress if this file has changed. Without it, one that fails within a minute on the same rank "
     "in the same way as the one before made none.",
     kInto<&RestartPolicy::progress_file, read_file_name>},
    {"standby", "WHAT", "Restarting",
     "Keep a process ready for each rank of a Python program, which has imported what the program imports, so that a "
     "restart, or the start of a node that has waited for others, begins without importing: auto, or the modules to "
     "import, such as torch,numpy. off is the default.",
     kInto<&StandbyOptions::modules, standby::read_modules>},
    {"standby-after", "SECONDS", "Restarting",
     "The first standby is made so long after the workers have started, when they are done with their own imports. "
     "Default: 60.",
     kInto<&StandbyOptions::after, read_seconds>},
    {"compile-cache", "DIR", "First step",
     "Keep what compilers make (torch.compile, Triton, and others) in this shared folder, and put it onto each node's "
     "own disk before "
     "the workers start. off is the default.",
     kInto<&CacheOptions::store, read_cache_store>},
    {"grace", "SECONDS", "Stopping",
     "Time between asking workers to end (SIGTERM) and killing them. Default: 30. A repeated request leaves it as it "
     "is; "
     "SIGINT (Ctrl-C) after a request kills at once.",
     kInto<&RunOptions::grace, read_seconds>},
    {"signals-to-handle", "NAMES", "Stopping",
     "Signals that ask the job to end, besides SIGTERM, SIGINT, SIGHUP and SIGQUIT, such as SIGUSR1,SIGUSR2.",
     kInto<&RunOptions::stop_signals, StopSignals::read>},
    {"on-early-exit", "WHAT", "Stopping",
     "When a rank ends with 0 and others go on: wait for them (the default), or fail.",
     kInto<&GangOptions::on_early_exit, read_word<"wait or fail", OnEarlyExit::Wait, OnEarlyExit::Fail>>, "wait fail"},
    {"early-exit-timeout", "SECONDS", "Stopping",
     "How long ranks may go on after the first one ended with 0. Default: no limit with wait, 10 with fail.",
     kInto<&GangOptions::early_exit_timeout, read_positive_seconds>},
    {"hang-report", "SECONDS", "Hangs",
     "Say where the ranks are when none has written a line for so long, and which of them keep the others waiting. "
     "0 means never. Default: 60.",
     kInto<&HangOptions::report, read_seconds>},
    {"hang-timeout", "SECONDS", "Hangs",
     "End a job that hangs when no rank has written a line for so long, as after a failure: the ranks that keep the "
     "others waiting get SIGABRT, and the exit code is 86. It takes Python 3.13, or py-spy beside an older one, to see "
     "that; a rank that polls counts as working. 0 means never. Default: 0.",
     kInto<&HangOptions::timeout, read_seconds>},
    {"first-meeting-timeout", "SECONDS", "Hangs",
     "Likewise before the ranks have met for the first time, such as in init_process_group, which --hang-timeout waits "
     "for without a limit. 0 means never. Default: 0.",
     kInto<&HangOptions::first_meeting, read_seconds>},
    {"hang-ask", "LIST", "Hangs",
     "What is asked where the ranks are, beside the kernel: stacks, py-spy, recorder (of PyTorch), or none. With nccl "
     "the workers get NCCL_RAS_ADDR, for 'muster stacks --ask-nccl'. Default: stacks,py-spy,recorder.",
     kInto<&HangOptions::asks, hang::read_questions>},
    {"on-hang", "COMMAND", "Hangs",
     "Run this command on each node, by /bin/sh, when a hang is reported: once until the job moves again, for 30 s at "
     "most.",
     kInto<&HangOptions::command, read_text>},
    {"suspend-signal", "SIGNAL", "Suspending",
     "This signal is a notice that the job is to give way, and no request to end: TERM under Kubernetes, USR1 with "
     "sbatch --signal=B:USR1@120.",
     kInto<&SuspendOptions::signal, read_notice_signal>},
    {"suspend-timeout", "SECONDS", "Suspending",
     "Time for the workers to save after a notice; what the platform leaves may be less. Default: 60.",
     kInto<&GangOptions::suspend_timeout, read_seconds>},
    {"suspend-before-end", "SECONDS", "Suspending",
     "A notice comes so long before the end of the allocation, which Slurm says in SLURM_JOB_END_TIME; Flux and LSF "
     "are asked once (flux job timeleft, bjobs).",
     kInto<&SuspendOptions::before_end, read_positive_seconds>},
    {"watch-notices", "CLOUD", "Suspending",
     "Ask the metadata server of this cloud every 5 seconds whether the machine is to be taken away. Default: none is "
     "asked.",
     kInto<&SuspendOptions::watched, read_word<"aws, gcp or azure", Cloud::Aws, Cloud::Gcp, Cloud::Azure>>,
     "aws gcp azure"},
    {"tell-workers-by", "SIGNAL", "Suspending",
     "Workers get this signal at a notice, such as USR1 or TERM, besides the file that MUSTER_SUSPEND_FILE names.",
     kInto<&SuspendOptions::worker_signal, read_worker_signal>},
    {"compat-hfai", "WHEN", "Suspending",
     "Scripts find a package hfai, where none is installed, and the module muster: auto (on HAI), always, never.",
     kReadByCode, "auto always never"},
    {"state-dir", "DIR", "Suspending",
     "Keep what goes over runs of the job in DIR/<job id>: how many there were and how the last one ended, and what "
     "the program puts there. Workers find it as MUSTER_JOB_STATE_DIR.",
     kInto<&Options::state_dir, read_file_name>},
    {"stdin", "RANK", "Input and output",
     "Local rank that gets standard input, all, which share it, or none. Default: the worker if there is only one.",
     kReadByCode, "all none"},
    {"log-dir", "DIR", "Input and output", "Also write each stream to DIR/attempt_<a>/<role>_<rank>.out and .err.",
     kInto<&JobRequest::log_dir, read_folder>},
    {"redirects", "WHAT", "Input and output",
     "Streams that go only to files: 0 none, 1 output, 2 error, 3 both, or 0:1,11:2 by local rank.", kReadByCode,
     nullptr, 'r'},
    {"tee", "WHAT", "Input and output", "Streams that go to the console and to files, written as for --redirects.",
     kReadByCode, nullptr, 't'},
    {"local-ranks-filter", "RANKS", "Input and output", "Show only these local ranks on the console, such as 0,3."},
    {"duplicate-stdout-filters", "TEXTS", "Input and output",
     "Also write lines of standard output that hold one of these texts, such as loss,lr, to filtered_stdout.log in the "
     "folder of the attempt; ,, is a comma.",
     kInto<&RunOptions::duplicate_out, LineFilter::read>},
    {"duplicate-stderr-filters", "TEXTS", "Input and output", "The same for standard error and filtered_stderr.log.",
     kInto<&RunOptions::duplicate_err, LineFilter::read>},
    {"prefix", "WHEN", "Input and output",
     "Begin console lines with [rank], or [node:rank]: auto (unless the job has exactly one worker), terminal (the "
     "same, and only on a terminal), always, never.",
     kInto<&RunOptions::prefix, read_word<"auto, terminal, always or never", PrefixWhen::Auto, PrefixWhen::OnTerminal,
                                          PrefixWhen::Always, PrefixWhen::Never>>,
     "auto terminal always never"},
    {"prefix-template", "TEXT", "Input and output",
     "What lines begin with instead, such as '[${role_name}${local_rank}]:'. Default: "
     "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE."},
    {"console-time", "FORM", "Input and output",
     "Begin muster's lines with the time: off, relative (since the start), utc, local. utc,workers: the workers' "
     "lines, too. Default: off where standard error is a terminal, else utc.",
     kInto<&RunOptions::console_times, read_console_times>, "off relative utc local"},
    {"color", "WHEN", "Input and output",
     "Colour on the console: auto (on a terminal, unless NO_COLOR is set), always, never.",
     kInto<&RunOptions::colour, read_when>, "auto always never"},
    {"tty", "WHEN", "Input and output",
     "Workers write into pseudo-terminals: auto (what is shown on a terminal and kept in no file), always, never.",
     kInto<&RunOptions::terminals, read_when>, "auto always never"},
    {"console-stall", "SECONDS", "Input and output",
     "A console, or file, that takes no byte for so long is stalled: its lines are dropped and counted, the workers go "
     "on. Default: 5.",
     kInto<&RunOptions::console_stall, read_seconds>},
    {"report", "FILE", "Input and output", "Write what happened to FILE, as JSON.",
     kInto<&Options::report, read_file_name>},
    {"history", "N", "Input and output",
     "Keep the reports of the newest N jobs of this user, which 'muster last' shows. Default: 20 where muster was "
     "started on a terminal, else 0.",
     kInto<&Options::history, read_number<0, 1'000, "a number of jobs">>},
    {"events", "FILE", "Input and output",
     "Write each transition of this node to FILE, as lines of JSON: joining, starts, first output, failures, the end. "
     "With several nodes each adds its host's name to the file's.",
     kInto<&RunOptions::events, read_file_name>},
    {"trace", "FILE", "Input and output", "The same as a trace for Perfetto and Chrome.",
     kInto<&RunOptions::trace, read_file_name>},
    {"metrics", "WHERE", "Input and output",
     "Metrics of this node for Prometheus: an address such as :9400 that serves /metrics, or a file.",
     kInto<&RunOptions::metrics, read_file_name>},
    {"json", nullptr, "Input and output", "With plan and explain: print JSON.",
     kInto<&Options::is_json, read_whether_on>},
    {"verbose", nullptr, "Help", "Say more, such as what muster waits for.",
     kInto<&Options::is_verbose, read_whether_on>, nullptr, 'v'},
    {"help", nullptr, "Help", "Print this text.", kReadByCode, nullptr, 'h'},
    {"version", nullptr, "Help",
     "Print the version; with --verbose, also what the program was built from and carries."},
    {"print-completion", "SHELL", "Help", "Print the completions for bash or zsh.", {}, "bash zsh"},
    {"print-man", nullptr, "Help", "Print the manual page."},
});

/// MUSTER_* variables that are not values of options: those that muster sets for workers, for the command of --on-hang
/// and for its processes below mpirun, which a muster in one of them inherits; the token, which has no option because
/// command lines are public; and the version, which images set.
constexpr std::array<std::string_view, 18> kNoOptions = {kMarkerVariable,          "MUSTER_TOKEN",
                                                         "MUSTER_VERSION",         kControlSocketVariable,
                                                         kSuspendFileVariable,     kHeartbeatFileVariable,
                                                         kRestartCountVariable,    kLastVerdictVariable,
                                                         kJobStateVariable,        mpi::variable::kSecret,
                                                         mpi::variable::kEndpoint, mpi::variable::kDaemons,
                                                         mpi::variable::kHostfile, mpi::variable::kInterfaces,
                                                         mpi::variable::kShared,   kHangRanksVariable,
                                                         kHangPidsVariable,        kHangNodeVariable};

/// Names in mpirun, srun, DeepSpeed, msrun and others.
constexpr auto kOtherNames = std::to_array<OtherName>({
    {"n", "nproc-per-node"},
    {"np", "nproc-per-node"},
    {"gpus", "nproc-per-node"},
    {"num-gpus", "nproc-per-node"},
    {"npus", "nproc-per-node"},
    {"nprocs", "nproc-per-node"},
    {"nproc", "nproc-per-node"},
    {"num-procs", "nproc-per-node"},
    {"num-processes", "nproc-per-node"},
    {"ntasks-per-node", "nproc-per-node"},
    {"local-worker-num", "nproc-per-node"},
    {"worker-num", "total-workers"},
    {"ntasks", "total-workers"},
    {"N", "nnodes"},
    {"nodes", "nnodes"},
    {"num-nodes", "nnodes"},
    {"node", "nnodes"},
    {"rank", "node-rank"},
    {"master", "master-addr"},
    {"port", "master-port"},
    {"timeout", "gang-timeout"},
    {"restarts", "max-restarts"},
    {"logs", "log-dir"},
});

constexpr std::string_view kOfTorchrun = "it is torchrun's; 'muster torchrun' takes that line as it is";
constexpr std::string_view kNoConfiguration =
    "muster has no configuration file; each option can be a variable instead: MUSTER_LOG_DIR for --log-dir";

constexpr auto kRemarks = std::to_array<OptionRemark>({
    {"standalone", "without options about nodes the job is this machine alone: leave it out"},
    {"config", kNoConfiguration},
    {"config-file", kNoConfiguration},
    {"rdzv-backend", kOfTorchrun},
    {"rdzv-endpoint", kOfTorchrun},
    {"rdzv-id", kOfTorchrun},
    {"rdzv-conf", kOfTorchrun},
    {"start-method", kOfTorchrun},
    {"monitor-interval", kOfTorchrun},
    {"local-addr", kOfTorchrun},
});

/// The option rows, with the platforms' names as choices of --platform.
auto with_platforms(const std::string& choices) {
  auto table = kOptionRows;
  for (Option& option : table) {
    if (std::string_view(option.name) == "platform") {
      option.choices = choices.c_str();
    }
  }
  return table;
}

}  // namespace

OptionTable own_options() {
  static const std::string choices = join(platform_names(), " ");
  static const auto table = with_platforms(choices);
  return {table, kNoOptions, kOtherNames, "muster", kRemarks};
}

}  // namespace muster
