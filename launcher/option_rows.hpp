#pragma once

// The table of muster's options. A new option needs a row here, and code that uses it.

#include "options/syntax.hpp"

#include <array>

namespace muster {

inline constexpr auto kOptionRows = std::to_array<Option>({
    {"nproc-per-node", '\0', "N", "Job",
     "Workers on this node: a number, or auto (accelerators if there are any, else 1; the "
     "default), gpu, npu, xpu, cpu.",
     "auto gpu npu xpu cpu"},
    {"devices", '\0', "LIST", "Job",
     "Devices of this node for the job, such as 0,2,4-7: a worker for each, and all of them see "
     "these. Default: those that are visible."},
    {"nnodes", '\0', "N", "Job", "Nodes of the job, or MIN:MAX such as 2:4. Default: what the platform says, else 1."},
    {"total-workers", '\0', "N", "Job",
     "The job is complete when its nodes have so many workers together, as with msrun's "
     "--worker_num; instead of --nnodes."},
    {"node-rank", '\0', "R", "Job",
     "Which of the nodes this is, from 0. Default: what the platform says, else by arrival."},
    {"master-addr", '\0', "HOST", "Job", "Address of the node with rank 0, where agents and workers meet."},
    {"master-port", '\0', "PORT", "Job", "Port there. Default: 29500; a free port when the job has one node."},
    {"job-id", '\0', "NAME", "Job",
     "Name of the job: agents that name another one do not join. Default: what the platform says, "
     "else none."},
    {"module", 'm', "NAME", "Job", "Run a Python module, as python3 -m does. The rest are its arguments."},
    {"no-python", '\0', nullptr, "Job", "Execute a .py file itself instead of giving it to Python."},
    {"platform", '\0', "NAME", "Job",
     "Who describes the cluster: flags, single, or a platform by its name in docs/platforms.md; "
     "^NAME asks all but that one. Default: detected.",
     ""},  // with_platforms adds the names
    {"mode", '\0', "NAME", "Job",
     "How workers are started: auto, torchrun, msrun, msrun-simulation, ranktable, ps, once, jax, "
     "deepspeed, accelerate, accelerate-single, paddle or mpirun.",
     "auto torchrun msrun msrun-simulation ranktable ps once jax deepspeed accelerate "
     "accelerate-single paddle "
     "mpirun"},
    {"mpi-start", '\0', "WAY", "Job",
     "How ranks of MPI are started: pmix (by muster itself), agent (by mpirun, without ssh), ssh "
     "(by mpirun and sshd), or auto, the default: the first of these that works on all nodes.",
     "auto pmix agent ssh"},
    {"mpirun-options", '\0', "WORDS", "Job",
     "Options that mpirun is given as they are, such as '--mca btl self,tcp'. Only agent and ssh "
     "can do that."},
    {"template", '\0', "FILE", "Job", "A mode of your own, described in docs/modes.md."},
    {"roles", '\0', "NUMBERS", "Job",
     "How many processes of each role the job has, such as chief=1,worker=2,ps=2, dealt to the "
     "nodes in turn."},
    {"template-arguments", '\0', "WHEN", "Job",
     "Whether the mode's arguments follow the program's own: auto (unless TF_CONFIG comes from the "
     "platform), always, never.",
     "auto always never"},
    {"fill-arguments", '\0', nullptr, "Job",
     "Fill placeholders such as {global_rank} in the program's arguments, too."},
    {"success-roles", '\0', "ROLES", "Job",
     "Roles that must end with 0 for the job to succeed, such as chief,evaluator. Default: what "
     "the mode says."},
    {"store", '\0', "WHO", "Job",
     "Who serves the store by which ranks of PyTorch meet: agent (the leader, so rank 0 may end "
     "first) or "
     "worker (rank 0). Default: agent under torchrun's command line and MA_RUN_METHOD=torchrun, "
     "else worker.",
     "agent worker"},
    {"virtual-local-rank", '\0', nullptr, "Job", "Show each worker its own device alone, and tell it LOCAL_RANK 0."},
    {"set", '\0', "NAME=VALUE", "Job",
     "Give a parameter of the mode a value; may be repeated. As a variable: several, separated by "
     "blanks."},
    {"rank-table", '\0', "WHERE", "Job",
     "The rank table of Ascend devices: a file, the folder in which a controller writes it, or "
     "generate: the nodes make one of what each of them has. Default: where the platform has it.",
     "generate"},
    {"hccn-conf", '\0', "FILE", "Job",
     "The addresses of this node's Ascend devices, where the table is generated: as "
     "/etc/hccn.conf, "
     "or what hccn_tool prints. Default: /etc/hccn.conf."},
    {"inputs-timeout", '\0', "SECONDS", "Job",
     "How long to wait for files that somebody else writes, such as a rank table, before anything "
     "is started. Default: 600."},
    {"rank-table-timeout", '\0', "SECONDS", "Job", "The same where that is a rank table. Default: --inputs-timeout."},
    {"topology", '\0', "FILE", "Job",
     "Lines of a node of the rank table and its switches from the top, such as gpu-0 core/leaf-1: "
     "ranks follow the switches."},
    {"numa-binding", '\0', "FORM", "Binding",
     "CPUs near the worker's accelerator: those of its NUMA node (node) or socket, a share of "
     "that node for each worker (exclusive), or the cores of one last-level cache "
     "(core-complex).",
     "node socket exclusive core-complex"},
    {"bind-core", '\0', "WHAT", "Binding",
     "CPUs of each worker: True (as exclusive), False, or JSON by device such as "
     "{\"device0\":[\"0-9\"]}, or a file of it that ends in .json.",
     "True False"},
    {"bind-numa", '\0', "WHAT", "Binding",
     "CPUs and memory of each worker by NUMA node: True (those of its accelerator), False, or "
     "JSON such as {\"device0\":[\"0\"]}, or a file that ends in .json.",
     "True False"},
    {"hosts", '\0', "LIST", "Other hosts",
     "Start the agents of the job on these hosts, such as a:8,b:8 or gpu[01-04]:8, the first of "
     "which leads."},
    {"hostfile", '\0', "FILE", "Other hosts",
     "The same from a file with a host on each line, as mpirun and deepspeed read it."},
    {"remote-shell", '\0', "COMMAND", "Other hosts",
     "What executes a command on a host, such as 'ssh -p 2222'. Default: ssh, and inside an "
     "allocation of Slurm srun."},
    {"forward-env", '\0', "NAMES", "Other hosts",
     "Variables that go along, such as MY_KEY,MY_APP_*, beside the usual ones; 'none' in front: "
     "instead of them."},
    {"worker-port", '\0', "PORT", "Several nodes",
     "Port on the leader where the workers meet. Default: a free one, new at each start."},
    {"gang-port", '\0', "PORT", "Several nodes",
     "Port on the leader where the agents meet. Default: --master-port, or if the workers have "
     "that, the port above it."},
    {"gang-timeout", '\0', "SECONDS", "Several nodes",
     "How long to wait for all nodes before anything is started. Default: 900."},
    {"last-call", '\0', "SECONDS", "Several nodes",
     "With --nnodes MIN:MAX, how long to wait for more nodes once MIN are here. Default: 30."},
    {"lead", '\0', "WHEN", "Several nodes",
     "When this node leads: auto (with node rank 0, without ranks where --master-addr is its own), "
     "reached (also once another node reaches it through that address, as through a Service or a "
     "published port), or never. Default: auto."},
    {"scale-up", '\0', "WHEN", "Several nodes",
     "With --nnodes MIN:MAX, when a node takes part that comes while the job runs: at the next "
     "restart (the "
     "default), or now, by starting all workers again, which counts as no restart."},
    {"heartbeat-timeout", '\0', "SECONDS", "Several nodes",
     "Silence after which a node or the leader is lost, 1 to 3600. Default: 8."},
    {"token-file", '\0', "FILE", "Several nodes",
     "Its content is a secret that all agents must share. Or give the secret itself as the "
     "variable MUSTER_TOKEN."},
    {"max-restarts", '\0', "N", "Restarting", "How often all workers are started again when one fails. Default: 0."},
    {"restart-window", '\0', "SECONDS", "Restarting",
     "Restarts that are older than this do not count. Default: all count."},
    {"restart-backoff", '\0', "SECONDS", "Restarting",
     "Wait before the second restart in a row, doubled each time up to a minute; the first one is "
     "at once. Default: 1."},
    {"no-progress-limit", '\0', "N", "Restarting",
     "Attempts in a row without progress after which the job ends with 93; 0 means never. "
     "Default: 3."},
    {"progress-file", '\0', "FILE", "Restarting",
     "An attempt made progress if this file has changed. Without it, one that fails within a "
     "minute on the same rank in the same way as the one before made none."},
    {"grace", '\0', "SECONDS", "Stopping",
     "Time between asking workers to end (SIGTERM) and killing them. Default: 30."},
    {"signals-to-handle", '\0', "NAMES", "Stopping",
     "Signals that ask the job to end, besides SIGTERM, SIGINT, SIGHUP and SIGQUIT, such as "
     "SIGUSR1,SIGUSR2."},
    {"on-early-exit", '\0', "WHAT", "Stopping",
     "When a rank ends with 0 and others go on: wait for them (the default), or fail.", "wait fail"},
    {"early-exit-timeout", '\0', "SECONDS", "Stopping",
     "How long ranks may go on after the first one ended with 0. Default: no limit with wait, 10 "
     "with fail."},
    {"suspend-signal", '\0', "SIGNAL", "Suspending",
     "This signal is a notice that the job is to give way, and no request to end: TERM under "
     "Kubernetes, USR1 with sbatch --signal=B:USR1@120."},
    {"suspend-timeout", '\0', "SECONDS", "Suspending",
     "Time for the workers to save after a notice; what the platform leaves may be less. Default: "
     "60."},
    {"suspend-before-end", '\0', "SECONDS", "Suspending",
     "A notice comes so long before the end of the allocation, which Slurm says in "
     "SLURM_JOB_END_TIME; Flux and LSF are asked once (flux job timeleft, bjobs)."},
    {"watch-notices", '\0', "CLOUD", "Suspending",
     "Ask the metadata server of this cloud every 5 seconds whether the machine is to be taken "
     "away. "
     "Default: none is asked.",
     "aws gcp azure"},
    {"tell-workers-by", '\0', "SIGNAL", "Suspending",
     "Workers get this signal at a notice, such as USR1 or TERM, besides the file that "
     "MUSTER_SUSPEND_FILE names."},
    {"compat-hfai", '\0', "WHEN", "Suspending",
     "Scripts find a package hfai, where none is installed, and the module muster: auto (on HAI), "
     "always, "
     "never.",
     "auto always never"},
    {"state-dir", '\0', "DIR", "Suspending",
     "Keep what goes over runs of the job in DIR/<job id>: how many there were and how the last "
     "one "
     "ended, and what the program puts there. Workers find it as MUSTER_JOB_STATE_DIR."},
    {"stdin", '\0', "RANK", "Input and output",
     "Local rank that gets standard input, all, which share it, or none. Default: the worker if "
     "there is only one.",
     "all none"},
    {"log-dir", '\0', "DIR", "Input and output",
     "Also write each stream to DIR/attempt_<a>/<role>_<rank>.out and .err."},
    {"redirects", 'r', "WHAT", "Input and output",
     "Streams that go only to files: 0 none, 1 output, 2 error, 3 both, or 0:1,11:2 by local "
     "rank."},
    {"tee", 't', "WHAT", "Input and output",
     "Streams that go to the console and to files, written as for --redirects."},
    {"local-ranks-filter", '\0', "RANKS", "Input and output",
     "Show only these local ranks on the console, such as 0,3."},
    {"duplicate-stdout-filters", '\0', "TEXTS", "Input and output",
     "Also write lines of standard output that hold one of these texts, such as loss,lr, to "
     "filtered_stdout.log in the folder of the attempt; ,, is a comma."},
    {"duplicate-stderr-filters", '\0', "TEXTS", "Input and output",
     "The same for standard error and filtered_stderr.log."},
    {"prefix", '\0', "WHEN", "Input and output",
     "Begin console lines with [rank], or [node:rank]: auto (unless the job has exactly one "
     "worker), terminal (the same, and only on a terminal), always, never.",
     "auto terminal always never"},
    {"prefix-template", '\0', "TEXT", "Input and output",
     "What lines begin with instead, such as '[${role_name}${local_rank}]:'. Default: "
     "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE."},
    {"color", '\0', "WHEN", "Input and output",
     "Colour on the console: auto (on a terminal, unless NO_COLOR is set), always, never.", "auto always never"},
    {"tty", '\0', "WHEN", "Input and output",
     "Workers write into pseudo-terminals: auto (what is shown on a terminal and kept in no file), "
     "always, never.",
     "auto always never"},
    {"console-stall", '\0', "SECONDS", "Input and output",
     "A console, or file, that takes no byte for so long is stalled: its lines are dropped and "
     "counted, "
     "the workers go on. Default: 5."},
    {"report", '\0', "FILE", "Input and output", "Write what happened to FILE, as JSON."},
    {"json", '\0', nullptr, "Input and output", "With plan and explain: print JSON."},
    {"verbose", 'v', nullptr, "Help", "Say more, such as what muster waits for."},
    {"help", 'h', nullptr, "Help", "Print this text."},
    {"version", '\0', nullptr, "Help",
     "Print the version; with --verbose, also what the program was built from and carries."},
    {"print-completion", '\0', "SHELL", "Help", "Print the completions for bash or zsh.", "bash zsh"},
    {"print-man", '\0', nullptr, "Help", "Print the manual page."},
});

}  // namespace muster
