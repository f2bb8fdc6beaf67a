// The options of muster. A new one is a new row here and its use; nothing else knows the list.
#include "options.hpp"

#include <array>

namespace muster {

namespace {

constexpr auto kTable = std::to_array<Option>({
    {"nproc-per-node",
     '\0',
     "N",
     "Job",
     "Workers on this node: a number, or auto (accelerators if there are any, else 1; the "
     "default), gpu, npu, cpu."},
    {"nnodes", '\0', "N", "Job", "Nodes of the job. Default: what the platform says, else 1."},
    {"node-rank", '\0', "R", "Job", "Which of the nodes this is, from 0."},
    {"master-addr",
     '\0',
     "HOST",
     "Job",
     "Address of the node with rank 0, where the workers meet."},
    {"master-port",
     '\0',
     "PORT",
     "Job",
     "Port there. Default: 29500; a free port when the job has one node."},
    {"module",
     'm',
     "NAME",
     "Job",
     "Run a Python module, as python3 -m does. The rest are its arguments."},
    {"no-python",
     '\0',
     nullptr,
     "Job",
     "Execute a .py file itself instead of giving it to Python."},
    {"platform",
     '\0',
     "NAME",
     "Job",
     "Who describes the cluster: flags, hai, pet, volcano, bare or single. Default: detected."},
    {"mode", '\0', "NAME", "Job", "How workers are started: auto or torchrun."},
    {"template", '\0', "FILE", "Job", "A mode of your own, described in docs/templates.md."},
    {"grace",
     '\0',
     "SECONDS",
     "Stopping",
     "Time between asking workers to end (SIGTERM) and killing them. Default: 30."},
    {"stdin",
     '\0',
     "RANK",
     "Input and output",
     "Local rank that gets standard input. Default: the worker if there is only one."},
    {"log-dir",
     '\0',
     "DIR",
     "Input and output",
     "Also write each stream to DIR/attempt_<a>/<role>_<rank>.out and .err."},
    {"redirects",
     'r',
     "WHAT",
     "Input and output",
     "Streams that go only to files: 0 none, 1 output, 2 error, 3 both, or 0:1,11:2 by local "
     "rank."},
    {"tee",
     't',
     "WHAT",
     "Input and output",
     "Streams that go to the console and to files, written as for --redirects."},
    {"local-ranks-filter",
     '\0',
     "RANKS",
     "Input and output",
     "Show only these local ranks on the console, such as 0,3."},
    {"prefix",
     '\0',
     "WHEN",
     "Input and output",
     "Begin console lines with [rank], or [node:rank]: auto (unless the job has exactly one "
     "worker), always, never."},
    {"color",
     '\0',
     "WHEN",
     "Input and output",
     "Colour on the console: auto (on a terminal, unless NO_COLOR is set), always, never."},
    {"console-stall",
     '\0',
     "SECONDS",
     "Input and output",
     "A console that takes no byte for so long is stalled: its lines are dropped and counted, "
     "the workers go on. Default: 5."},
    {"report", '\0', "FILE", "Input and output", "Write what happened to FILE, as JSON."},
    {"json", '\0', nullptr, "Input and output", "With plan: print JSON instead of YAML."},
    {"verbose", 'v', nullptr, "Help", "Say more, such as what muster waits for."},
    {"help", 'h', nullptr, "Help", "Print this text."},
    {"version", '\0', nullptr, "Help", "Print the version."},
    {"print-completion", '\0', "SHELL", "Help", "Print the completions for bash or zsh."},
    {"print-man", '\0', nullptr, "Help", "Print the manual page."},
});

}  // namespace

std::span<const Option> option_table() {
  return kTable;
}

}  // namespace muster
