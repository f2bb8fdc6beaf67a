// Holds the table of muster's options. A new option is a row here, with a reader that puts its value into a member of
// a request; options that need more than their value are read by code elsewhere (kReadByCode).
#include "base/text.hpp"
#include "hang/questions.hpp"
#include "modes/agent_call.hpp"
#include "options/readers.hpp"
#include "platforms/cluster.hpp"
#include "requests.hpp"
#include "run/cache_options.hpp"
#include "run/hang_variables.hpp"
#include "run/read_ahead_options.hpp"
#include "run/standby_options.hpp"
#include "standby/standby_rules.hpp"

#include <array>

namespace muster {
namespace {

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
     "Devices of this node that the job uses, such as 0,2,4-7. muster starts a worker for each of them, and each "
     "worker sees all of them. Default: all visible devices.",
     kInto<&Options::devices, read_text>},
    {"nnodes", "N", "Job",
     "Number of nodes in the job, or MIN:MAX such as 2:4. Default: what the platform says, else 1."},
    {"total-workers", "N", "Job",
     "Number of workers in the whole job, as msrun's --worker_num. The start waits until the nodes together have "
     "this number of workers. Use this option instead of --nnodes."},
    {"node-rank", "R", "Job",
     "Rank of this node, from 0. Default: what the platform says, else the order in which nodes join."},
    {"master-addr", "HOST", "Job", "Address of the node with rank 0. Agents and workers connect to this address."},
    {"master-port", "PORT", "Job", "Port of --master-addr. Default: 29500, or a free port if the job has one node."},
    {"job-id", "NAME", "Job",
     "Name of the job. Agents whose jobs have different names do not join each other. Default: what the platform "
     "says, else none."},
    {"module", "NAME", "Job",
     "Run this Python module, as python3 -m does. The words after NAME are the arguments of the module.", kReadByCode,
     nullptr, 'm'},
    {"no-python", nullptr, "Job", "Execute a .py file directly instead of passing it to Python."},
    {"platform", "NAME", "Job",
     "Where muster reads the nodes of the job from: flags, single, or the name of a platform in docs/platforms.md. "
     "^NAME means any platform except NAME. Default: muster detects it.",
     kReadByCode, ""},  // with_platforms adds the names
    {"mode", "NAME", "Job",
     "How muster starts the workers: auto, torchrun, msrun, msrun-simulation, ranktable, ps, once, jax, deepspeed, "
     "accelerate, accelerate-single, paddle or mpirun.",
     kReadByCode,
     "auto torchrun msrun msrun-simulation ranktable ps once jax deepspeed accelerate accelerate-single paddle mpirun"},
    {"mpi-start", "WAY", "Job",
     "How MPI ranks are started: pmix (by muster itself), agent (by mpirun, without ssh), ssh (by mpirun and "
     "sshd), or auto (the first of these that works on all nodes; the default).",
     kReadByCode, "auto pmix agent ssh"},
    {"mpirun-options", "WORDS", "Job",
     "Options that muster passes to mpirun unchanged, such as '--mca btl self,tcp'. Only --mpi-start agent and ssh "
     "use mpirun."},
    {"template", "FILE", "Job", "A file that describes a mode of your own: docs/modes.md."},
    {"roles", "NUMBERS", "Job",
     "Number of processes of each role, such as chief=1,worker=2,ps=2. muster gives these processes to the nodes in "
     "turn."},
    {"template-arguments", "WHEN", "Job",
     "Whether muster adds the mode's arguments after the program's own: auto (yes, unless TF_CONFIG comes from the "
     "platform), always, never.",
     kInto<&JobRequest::template_arguments,
           read_word<"auto, always or never", GiveArguments::Auto, GiveArguments::Always, GiveArguments::Never>>,
     "auto always never"},
    {"fill-arguments", nullptr, "Job", "Replace placeholders such as {global_rank} in the program's arguments.",
     kInto<&JobRequest::fills_arguments, read_whether_on>},
    {"success-roles", "ROLES", "Job",
     "The job succeeds when all processes of these roles end with exit code 0, such as chief,evaluator. Default: what "
     "the mode says.",
     kInto<&JobRequest::success_roles, read_success_roles>},
    {"store", "WHO", "Job",
     "Who runs the store through which PyTorch's ranks find each other: agent (the leader's muster, so that rank 0 "
     "may end first) or worker (rank 0). Default: agent with 'muster torchrun' and MA_RUN_METHOD=torchrun, else "
     "worker.",
     kInto<&JobRequest::hosts_store, read_agent_store>, "agent worker"},
    {"virtual-local-rank", nullptr, "Job", "Let each worker see only its own device, with LOCAL_RANK 0.",
     kInto<&JobRequest::masks_devices, read_whether_on>},
    {"set", "NAME=VALUE", "Job",
     "Set a parameter of the mode. You can give this option several times. In the variable, separate the parameters "
     "by blanks."},
    {"rank-table", "WHERE", "Job",
     "The rank table of Ascend devices: a file, a folder into which a controller writes it, or generate (muster "
     "makes it from what each node has). Default: where the platform puts it.",
     kReadByCode, "generate"},
    {"hccn-conf", "FILE", "Job",
     "File with the addresses of this node's Ascend devices, for a generated rank table: /etc/hccn.conf, or the "
     "output of hccn_tool. Default: /etc/hccn.conf."},
    {"inputs-timeout", "SECONDS", "Job",
     "How long the start waits for files that other programs write, such as a rank table. Default: 600.",
     kInto<&GangOptions::inputs_timeout, read_seconds>},
    {"rank-table-timeout", "SECONDS", "Job", "How long the start waits for the rank table. Default: --inputs-timeout.",
     kInto<&GangOptions::inputs_timeout, read_seconds>},
    {"topology", "FILE", "Job",
     "File with a line for each node: its name in the rank table, then its switches from the top, such as 'gpu-0 "
     "core/leaf-1'. Nodes at the same switch get neighbouring ranks."},
    {"numa-binding", "FORM", "Binding",
     "Bind each worker to CPUs near its accelerator: all CPUs of the NUMA node (node) or of the socket (socket), "
     "its own share of the node's CPUs (exclusive), or the CPUs of one last-level cache (core-complex).",
     kReadByCode, "node socket exclusive core-complex"},
    {"bind-core", "WHAT", "Binding",
     "CPUs of each worker: True (as --numa-binding exclusive), False, JSON by device such as "
     "{\"device0\":[\"0-9\"]}, or a .json file.",
     kReadByCode, "True False"},
    {"bind-numa", "WHAT", "Binding",
     "NUMA nodes whose CPUs and memory each worker uses: True (the NUMA node of its accelerator), False, JSON such "
     "as {\"device0\":[\"0\"]}, or a .json file.",
     kReadByCode, "True False"},
    {"hosts", "LIST", "Other hosts",
     "Start the job on these hosts, each with its number of workers, such as a:8,b:8 or gpu[01-04]:8. The first "
     "host leads."},
    {"hostfile", "FILE", "Other hosts",
     "Start the job on the hosts in this file, one on each line, as for mpirun and deepspeed."},
    {"remote-shell", "COMMAND", "Other hosts",
     "Command that runs a command on another host, such as 'ssh -p 2222'. Default: ssh; inside a Slurm allocation "
     "srun."},
    {"forward-env", "NAMES", "Other hosts",
     "More variables to pass to the other hosts, such as MY_KEY,MY_APP_*. If the list begins with 'none', muster "
     "passes only these variables."},
    {"worker-port", "PORT", "Several nodes",
     "Port on the leader's node through which workers connect to each other. Default: a free port, new for each "
     "attempt."},
    {"gang-port", "PORT", "Several nodes",
     "Port on the leader's node to which agents connect. Default: --master-port, or the next port if the workers use "
     "--master-port."},
    {"gang-timeout", "SECONDS", "Several nodes", "How long the start waits for all nodes to join. Default: 900.",
     kInto<&GangOptions::timeout, read_positive_seconds>},
    {"last-call", "SECONDS", "Several nodes",
     "With --nnodes MIN:MAX: how long the start waits for more nodes after MIN nodes have joined. Default: 30.",
     kInto<&GangOptions::last_call, read_seconds>},
    {"lead", "WHEN", "Several nodes",
     "When this node leads the job: auto (it has node rank 0, or --master-addr is its own if nodes have no ranks), "
     "reached (also when another node reaches it through --master-addr, as through a Service or a published port), "
     "or never. Default: auto.",
     kInto<&GangOptions::lead, read_lead>},
    {"scale-up", "WHEN", "Several nodes",
     "With --nnodes MIN:MAX: when a node that comes later takes part: restart (at the next restart, the default), "
     "or now (muster restarts all workers for it; this does not count as a restart).",
     kInto<&GangOptions::scale_up, read_word<"restart or now", ScaleUp::AtRestart, ScaleUp::Now>>},
    {"preflight", "WHEN", "Several nodes",
     "Compare drivers, devices, ports, limits, clocks and more of the nodes, and name a node that differs from all "
     "others: auto (jobs of three nodes and more, the default), off, or one or several of strict (a node with other "
     "devices, driver, ports, clock or /dev/shm does not take part), full (also resolve names, and write into the "
     "job's folders) and links (also measure latency and throughput between the nodes), joined by commas.",
     kInto<&GangOptions::preflight, read_preflight>,
     "auto strict full links strict,full strict,links strict,full,links off"},
    {"preflight-command", "COMMAND", "Several nodes",
     "Command that /bin/sh runs on each node before the workers start, and again after a failure. If its exit code "
     "is not 0, the node does not take part; if the job cannot run without this node, it ends with exit code 69. "
     "muster fills in {devices}, {node_rank} and others.",
     kInto<&GangOptions::preflight_command, read_text>},
    {"preflight-timeout", "SECONDS", "Several nodes",
     "Time limit of --preflight-command. If the command takes longer on a node, this node does not take part. "
     "Default: 60.",
     kInto<&GangOptions::preflight_timeout, read_positive_seconds>},
    {"heartbeat-timeout", "SECONDS", "Several nodes",
     "Time without a heartbeat after which a node, or the leader, counts as lost, 1 to 3600. Default: 8.",
     kInto<&GangOptions::heartbeat_timeout, read_seconds_from<1, 3600>>},
    {"token-file", "FILE", "Several nodes",
     "File with a secret; agents with another secret cannot join. Or put the secret itself into the variable "
     "MUSTER_TOKEN.",
     kInto<&GangOptions::token_file, read_file_name>},
    {"max-restarts", "N", "Restarting", "How many times muster restarts all workers after one has failed. Default: 0."},
    {"node-failures", "N", "Restarting",
     "If a node has failed N times by itself (its device broke, or the node was lost), a spare takes its place at "
     "the next restart. 0: never. Default: 0.",
     kInto<&GangOptions::node_failures, read_number<0, 1'000, "a number of failures">>},
    {"bad-nodes", "FILE", "Restarting",
     "File in which muster keeps the names of nodes that failed twice by themselves, for a week. A later job names "
     "such nodes at its start; with --preflight strict they do not take part.",
     kInto<&GangOptions::bad_nodes, read_file_name>},
    {"machine", "NAME", "Restarting",
     "Name of this node's machine in the file of --bad-nodes. Default: the host name. In a pod there is no default: "
     "set MUSTER_MACHINE to spec.nodeName.",
     kInto<&GangOptions::machine, read_machine>},
    {"restart-window", "SECONDS", "Restarting",
     "For --max-restarts, count only the restarts of the last SECONDS. Default: count all restarts.",
     kInto<&RestartPolicy::window, read_positive_seconds>},
    {"restart-backoff", "SECONDS", "Restarting",
     "Time to wait before the second restart in a row; it doubles for each further restart, up to a minute. muster "
     "does not wait before the first restart. Default: 1.",
     kInto<&RestartPolicy::backoff, read_seconds>},
    {"no-progress-limit", "N", "Restarting",
     "Number of attempts in a row without progress after which the job ends with exit code 93; 0: no limit. Default: "
     "3.",
     kInto<&RestartPolicy::no_progress_limit, read_number<0, 1'000'000, "a number of attempts">>},
    {"progress-file", "FILE", "Restarting",
     "An attempt made progress if this file has changed. Without this option, an attempt made no progress if it "
     "failed within a minute, on the same rank and in the same way as the attempt before.",
     kInto<&RestartPolicy::progress_file, read_file_name>},
    {"standby", "WHAT", "Restarting",
     "Keep a process ready for each rank of a Python program, so that a restart, or the start on a node that waited "
     "for others, needs no imports. auto: the process imports what the program imports. Other values: names of "
     "modules to import, such as torch,numpy; off (the default).",
     kInto<&StandbyOptions::modules, standby::read_modules>},
    {"standby-after", "SECONDS", "Restarting",
     "How long after the start of the workers muster makes the first standby. Choose a time that is longer than the "
     "imports take. Default: 60.",
     kInto<&StandbyOptions::after, read_seconds>},
    {"compile-cache", "DIR", "First step",
     "Keep what compilers make (torch.compile, Triton and others) in this shared folder, and copy it to each "
     "node's own disk before the workers start; or off (the default).",
     kInto<&CacheOptions::store, read_cache_store>},
    {"read-ahead", "WHEN", "First step",
     "While this node waits for other nodes or for its inputs, read the libraries of a Python program that are on "
     "a network file system, as an earlier job used them: auto, or off (the default).",
     kInto<&ReadAheadOptions::is_wanted, read_word<"auto or off", true, false>>, "auto off"},
    {"read-ahead-after", "SECONDS", "First step",
     "How long after the first line of a worker muster notes which files the program uses. Default: 60.",
     kInto<&ReadAheadOptions::after, read_seconds>},
    {"grace", "SECONDS", "Stopping",
     "Time that workers have to end after a request (SIGTERM) before they are killed. Default: 30. A second request "
     "does not shorten this time; SIGINT (Ctrl-C) after a request kills the workers at once.",
     kInto<&RunOptions::grace, read_seconds>},
    {"signals-to-handle", "NAMES", "Stopping",
     "More signals that ask the job to end, besides SIGTERM, SIGINT, SIGHUP and SIGQUIT, such as SIGUSR1,SIGUSR2.",
     kInto<&RunOptions::stop_signals, StopSignals::read>},
    {"on-early-exit", "WHAT", "Stopping",
     "When a rank ends with exit code 0 while others run: wait for the others (the default), or fail.",
     kInto<&GangOptions::on_early_exit, read_word<"wait or fail", OnEarlyExit::Wait, OnEarlyExit::Fail>>, "wait fail"},
    {"early-exit-timeout", "SECONDS", "Stopping",
     "How long the other ranks may run after the first one has ended with exit code 0. Default: no limit with "
     "--on-early-exit wait, 10 with --on-early-exit fail.",
     kInto<&GangOptions::early_exit_timeout, read_positive_seconds>},
    {"hang-report", "SECONDS", "Hangs",
     "After this time without a line from any rank, print where the ranks are, and which rank keeps the others "
     "waiting. This needs Python 3.13, or py-spy for an older Python. 0: never. Default: 60.",
     kInto<&HangOptions::report, read_seconds>},
    {"hang-timeout", "SECONDS", "Hangs",
     "End a job that hangs after this time without a line from any rank. The ranks that keep the others waiting "
     "get SIGABRT, and the exit code is 86. This needs Python 3.13, or py-spy for an older Python. A rank that "
     "polls counts as working. 0: never. Default: 0.",
     kInto<&HangOptions::timeout, read_seconds>},
    {"first-meeting-timeout", "SECONDS", "Hangs",
     "As --hang-timeout, but only until all ranks have communicated for the first time, for example in "
     "init_process_group. Until then --hang-timeout does not apply. 0: never. Default: 0.",
     kInto<&HangOptions::first_meeting, read_seconds>},
    {"hang-ask", "LIST", "Hangs",
     "What muster asks, besides the kernel, to find out where the ranks are: stacks, py-spy, recorder (PyTorch's "
     "flight recorder), or none. With nccl, workers also get NCCL_RAS_ADDR, which 'muster stacks --ask-nccl' "
     "needs. Default: stacks,py-spy,recorder.",
     kInto<&HangOptions::asks, hang::read_questions>},
    {"on-hang", "COMMAND", "Hangs",
     "Command that /bin/sh runs on each node when a hang is reported. The command runs once for each hang, for at "
     "most 30 s.",
     kInto<&HangOptions::command, read_text>},
    {"suspend-signal", "SIGNAL", "Suspending",
     "A signal that is a notice to suspend the job and not a request to end: TERM on Kubernetes, USR1 with sbatch "
     "--signal=B:USR1@120.",
     kInto<&SuspendOptions::signal, read_notice_signal>},
    {"suspend-timeout", "SECONDS", "Suspending",
     "Time that workers have to save after a notice. The platform may give less time. Default: 60.",
     kInto<&GangOptions::suspend_timeout, read_seconds>},
    {"suspend-before-end", "SECONDS", "Suspending",
     "Suspend the job this long before its allocation ends. Slurm gives the end in SLURM_JOB_END_TIME; muster asks "
     "Flux and LSF once (flux job timeleft, bjobs).",
     kInto<&SuspendOptions::before_end, read_positive_seconds>},
    {"watch-notices", "CLOUD", "Suspending",
     "Ask the metadata server of this cloud every 5 seconds whether it will take the machine away. Default: muster "
     "asks no server.",
     kInto<&SuspendOptions::watched, read_word<"aws, gcp or azure", Cloud::Aws, Cloud::Gcp, Cloud::Azure>>,
     "aws gcp azure"},
    {"tell-workers-by", "SIGNAL", "Suspending",
     "At a notice, send this signal, such as USR1 or TERM, to the workers whose program catches it. muster also "
     "writes the file that MUSTER_SUSPEND_FILE names, as without the option. Default: no signal.",
     kInto<&SuspendOptions::worker_signal, read_worker_signal>},
    {"compat-hfai", "WHEN", "Suspending",
     "When muster puts its Python folder on PYTHONPATH: auto (only on HAI, the default), always, never. In this "
     "folder scripts find the module muster and, if hfai is not installed, a replacement for the package hfai.",
     kReadByCode, "auto always never"},
    {"state-dir", "DIR", "Suspending",
     "Folder that outlives a run: DIR/<job id> has the number of runs, how the last one ended, and what the program "
     "writes there. Workers get the path of this folder in MUSTER_JOB_STATE_DIR.",
     kInto<&Options::state_dir, read_file_name>},
    {"stdin", "RANK", "Input and output",
     "Which worker reads standard input: a local rank, all (they share it), or none. Default: if there is only one "
     "worker, this worker.",
     kReadByCode, "all none"},
    {"log-dir", "DIR", "Input and output",
     "Also write each worker's streams to DIR/attempt_<a>/<role>_<rank>.out and .err.",
     kInto<&JobRequest::log_dir, read_folder>},
    {"redirects", "WHAT", "Input and output",
     "Streams that go only to log files: 0 none, 1 output, 2 error, 3 both; or by local rank, such as 0:1,11:2.",
     kReadByCode, nullptr, 'r'},
    {"tee", "WHAT", "Input and output",
     "Streams that go both to the console and to log files. The value has the same form as for --redirects.",
     kReadByCode, nullptr, 't'},
    {"local-ranks-filter", "RANKS", "Input and output", "Show only these local ranks on the console, such as 0,3."},
    {"duplicate-stdout-filters", "TEXTS", "Input and output",
     "Also write lines of standard output that contain one of these texts, such as loss,lr, to filtered_stdout.log "
     "in the folder of the attempt. In a text, write ,, for a comma.",
     kInto<&RunOptions::duplicate_out, LineFilter::read>},
    {"duplicate-stderr-filters", "TEXTS", "Input and output",
     "Also write lines of standard error that contain one of these texts to filtered_stderr.log.",
     kInto<&RunOptions::duplicate_err, LineFilter::read>},
    {"prefix", "WHEN", "Input and output",
     "Whether console lines begin with [rank] or [node:rank]: auto (yes, unless the job has exactly one worker), "
     "terminal (as auto, but only on a terminal), always, never.",
     kInto<&RunOptions::prefix, read_word<"auto, terminal, always or never", PrefixWhen::Auto, PrefixWhen::OnTerminal,
                                          PrefixWhen::Always, PrefixWhen::Never>>,
     "auto terminal always never"},
    {"prefix-template", "TEXT", "Input and output",
     "Text with which console lines begin, such as '[${role_name}${local_rank}]:'. Default: "
     "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE."},
    {"console-time", "FORM", "Input and output",
     "Begin muster's own lines with the time: off, relative (since the start), utc, local. A value with "
     "',workers', such as utc,workers, puts the time before the workers' lines as well. Default: off on a terminal, "
     "else utc.",
     kInto<&RunOptions::console_times, read_console_times>, "off relative utc local"},
    {"color", "WHEN", "Input and output",
     "Colour on the console: auto (on a terminal, unless NO_COLOR is set), always, never.",
     kInto<&RunOptions::colour, read_when>, "auto always never"},
    {"tty", "WHEN", "Input and output",
     "Whether workers write to a pseudo-terminal: auto (yes for output that goes to a terminal and to no file), "
     "always, never.",
     kInto<&RunOptions::terminals, read_when>, "auto always never"},
    {"console-stall", "SECONDS", "Input and output",
     "A console or file that accepts no byte for this long is stalled. muster then drops and counts lines for it, "
     "and the workers go on. Default: 5.",
     kInto<&RunOptions::console_stall, read_seconds>},
    {"report", "FILE", "Input and output", "Write a report of the job to FILE, as JSON.",
     kInto<&Options::report, read_file_name>},
    {"history", "N", "Input and output",
     "Keep the reports of this user's last N jobs, for 'muster last'. Default: 20 if muster was started on a "
     "terminal, also with nohup or with its output in a file or a pipe; else 0.",
     kInto<&Options::history, read_number<0, 1'000, "a number of jobs">>},
    {"events", "FILE", "Input and output",
     "Write the events of this node to FILE, as lines of JSON: joining, starts, first output, failures, the end. "
     "With several nodes, each node adds its host's name to the name of the file.",
     kInto<&RunOptions::events, read_file_name>},
    {"trace", "FILE", "Input and output", "Write the same events to FILE as a trace for Perfetto and Chrome.",
     kInto<&RunOptions::trace, read_file_name>},
    {"metrics", "WHERE", "Input and output",
     "Where this node's metrics for Prometheus are: an address such as :9400, where muster serves /metrics, or a "
     "file.",
     kInto<&RunOptions::metrics, read_file_name>},
    {"json", nullptr, "Input and output", "With plan and explain: print JSON.",
     kInto<&Options::is_json, read_whether_on>},
    {"verbose", nullptr, "Help", "Print more, such as what muster waits for.",
     kInto<&Options::is_verbose, read_whether_on>, nullptr, 'v'},
    {"help", nullptr, "Help", "Print this text.", kReadByCode, nullptr, 'h'},
    {"version", nullptr, "Help",
     "Print the version. With --verbose, print the commit and the libraries of the program as well."},
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

/// Option names of mpirun, srun, DeepSpeed, msrun and others, each with muster's name for it.
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
    {"standalone", "without options about nodes the job has only this machine: leave this option out"},
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
