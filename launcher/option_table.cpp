// Makes --help, the manual page and the completions from the tables of options.
#include "base/text.hpp"
#include "compat/compat_launcher.hpp"
#include "environment/snapshot.hpp"
#include "options/help_text.hpp"
#include "requests.hpp"
#include "subcommands.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace muster {
namespace {

constexpr const char* kIntroduction =
    R"(Usage: muster [options] [--] program [arguments...]
       muster [options] train.py [arguments...]
       muster run [options] [--] program    the same, also of a program named as a command of muster
       muster plan [--json] [options] -- program [arguments...]
       muster explain [options]
       muster explain CODE|'MESSAGE'        what an exit code or a message means, and what to do
       muster check ranktable FILE          what is wrong with a rank table (--help after it)
       muster status|stacks|stop|suspend    about a job that runs here (--help after it)
       muster last [N]                      the reports of this user's last jobs (--help after it)
       muster dump                          another name of muster stacks
       muster doctor [--json]               what this system allows (--help after it)
       muster token                         a secret for the links of a job (--help after it)
       muster render KIND ... -- program    a manifest or a batch script (--help after it)
       muster torchrun|msrun|mpirun ...     that launcher's own command line (--help after it)

Starts a distributed job: reads the cluster's environment, works out who runs where, starts one
process per accelerator the way the framework expects, watches them, and says what happened.

Examples:
  muster train.py --epochs 3               one worker per accelerator of this machine
  muster --nproc-per-node 4 train.py       four workers
  muster -m package.train                  a Python module
  muster --nnodes 2 --node-rank 0 --master-addr 10.0.0.1 train.py
                                           first of two nodes; the other one has --node-rank 1
  muster --nnodes 2:4 --master-addr 10.0.0.1 --max-restarts 3 train.py
                                           the same on each of two to four nodes; when one worker
                                           fails, all are started again, up to three times
  muster --hosts a:8,b:8 train.py          start it on these hosts, through ssh
  muster train.py                          the same on every node under HAI, Volcano, Kubeflow ...
  muster plan -- train.py                  what would be started, and start nothing
  muster explain                           what was detected, and from which variable
  muster explain 69                        what this exit code means; also a message or a word
  muster --log-dir logs --report report.json train.py
)";

constexpr const char* kClosing =
    R"(
Each option can be given as a variable: --log-dir is MUSTER_LOG_DIR. A flag wins over its variable,
and both win over the platform. Nothing after the program is read as an option of muster.

Exit codes: 0 all workers succeeded; the first failed worker's own, or 128 + its signal; 128 + the
signal that stopped the job; 64 bad command line, 65 bad data, 69 a node or the leader was lost or
a node is unfit, 70 a bug in muster, 71 the system refused a call, 75 the gang never became
complete, 78 bad environment, 85 suspended, 86 hang detected, 93 no progress over several attempts,
126 program not executable, 127 program not found.
)";

constexpr const char* kLastIntroduction =
    R"(Usage: muster last [--json] [N]

Prints the reports of this user's last N jobs on this machine (1), the newest last: what was started,
when, and the last lines. A job keeps its report where it was started on a terminal, also with nohup
or with its output in a file or a pipe, or with --history N.

Exit codes: 0; 64 bad command line; 71 the file system does not answer; 75 no report is kept, or the
folder of the reports belongs to another user.
)";

constexpr const char* kRenderIntroduction =
    R"(Usage: muster render KIND --name NAME [options] -- program [arguments...]
       muster render --check-fit FILE [--pods FILE] --nodes N [options]

Prints a manifest that starts one agent of muster on each node, all of them or none, and that does
with the job's exit code what docs/interfaces.md advises. What stands after '--' is what would stand
after 'muster': options of muster, a program, its arguments. They arrive as they are, byte for byte.

Kinds:
  volcano      a Job of Volcano
  kubeflow     a PyTorchJob of Kubeflow's Training Operator (v1); also: pytorchjob
  trainjob     a TrainJob of Kubeflow's Trainer (v2), with its runtime
  indexed-job  an Indexed Job of Kubernetes, with its Service
  jobset       a JobSet
  leaderworkerset  a LeaderWorkerSet, for servers; also: lws
  mpijob       an MPIJob of Kubeflow's MPI Operator (v2)
  slurm        a script for sbatch
  pbs          a script for qsub of OpenPBS and PBS Professional
  lsf          a script for bsub of LSF
  dockerfile   an image with muster in it

Examples:
  muster render volcano --name train --image train:1.0 --nodes 4 -- train.py | kubectl create -f -
  muster render indexed-job --name train --image train:1.0 --nodes 4 --queue team -- -m train
  muster render slurm --name train --nodes 4 -- train.py --epochs 3 > train.sbatch
  muster render dockerfile --image train:1.0 -- train.py > Dockerfile
  kubectl get nodes,pods -A -o json | muster render --check-fit - --nodes 100 --devices 8
)";

constexpr const char* kCheckIntroduction =
    R"(Usage: muster check ranktable [--json] FILE

Reads a rank table of any form, and says which it is, how many servers and devices it has, and what
HCCL would refuse in it: one line on standard error for each, with its place in the file, its value,
what was expected, and the code that CANN would end with. It starts nothing and waits for nothing.
FILE may be a folder, such as the value of RANK_TABLE_FILE on ModelArts. A note is about what muster
writes right for the workers, or what only old versions of HCCL refuse.

Exit codes: 0 the table is right; 65 it is not, or it is not complete yet; 64 bad command line.

Examples:
  muster check ranktable /user/config/jobstart_hccl.json
  muster check ranktable --json hccl.json | jq .devices
)";

constexpr const char* kDoctorIntroduction =
    R"(Usage: muster doctor [--json]

Asks this system what it allows, and prints for each guarantee of muster whether it holds here: what it
rests on, and where it does not hold why, what that means and what can be done about it. To be run where
the job will run: in its container, as its user. It changes nothing.

Exit codes: 0 each guarantee holds, or holds in part; 71 one does not; 64 bad command line.

Examples:
  muster doctor
  kubectl exec train-worker-0 -- muster doctor
  muster doctor --json | jq '.guarantees[] | select(.holds != "yes")'
)";

constexpr const char* kStatusIntroduction =
    R"(Usage: muster status [--job ID|PID] [--watch] [--json]

Shows the workers of a running job on all of its nodes, from any of them: their state, processor time and
memory, the time since they last wrote something, and what their program calls progress() with.

Where several jobs run here, it lists them, to root those of all users, and with --job it shows one. --json prints {"job": ..., "nodes": [...]} for
one job, {"jobs": [...]} for several.

Exit codes: 0; 64 bad command line, or several jobs are called ID; 75 none runs here, or it does not answer or is ending.

Examples:
  muster status
  muster status --job train --watch
  kubectl exec train-worker-3 -- muster status --json | jq '.nodes[].workers[] | select(.output_age_s > 600)'
)";

constexpr const char* kStacksIntroduction =
    R"(Usage: muster stacks [--job ID|PID] [--json] [--ask-nccl[=yes]]

Shows where all ranks of a running job are, on all of its nodes: their Python stacks, and what the kernel says. Ranks
at the same place are shown once; the last lines name the ranks for which the others wait. No rank is stopped.
docs/hangs.md tells of which programs it knows the stacks. 'muster dump' is another name of this command.

Exit codes: 0; 64 bad command line, or several jobs run here; 75 none does, or it does not answer or is ending.

Examples:
  muster stacks
  kubectl exec train-worker-3 -- muster stacks --json | jq '.verdict[]'
)";

constexpr const char* kStopIntroduction =
    R"(Usage: muster stop [--job ID|PID] [--grace SECONDS]

Ends a running job on all of its nodes, as a SIGTERM to any muster of it does: the workers get SIGTERM, and what is
left after the grace is killed. --grace 0 kills at once, also what has been asked before. The job ends with 143.

Exit codes: 0 the job is ending; 64 bad command line, or several jobs run here; 75 none does, or it does not answer.

Examples:
  muster stop
  muster stop --job 4711 --grace 5
)";

constexpr const char* kSuspendIntroduction =
    R"(Usage: muster suspend [--job ID|PID] [--within SECONDS] [--reason TEXT]
       muster suspend [--job ID|PID] --cancel

Tells the workers of a running job, on all of its nodes, that the job is to give way: they save their work and end,
or one of them says that it has saved. The job ends with 85, 'suspended', for a scheduler to queue it again.
docs/control.md tells how a program hears of it.

Exit codes: 0 the workers are told; 64 bad command line, or several jobs run here; 75 none does, or it does not answer or is ending.

Examples:
  muster suspend
  muster suspend --within 120 --reason 'maintenance of rack 7'
)";

constexpr const char* kTokenIntroduction =
    R"(Usage: muster token

Prints a new token: 32 random bytes as 64 hexadecimal digits, on one line. With it the links between the
nodes are encrypted, and only who has it can join the job. All agents of the job must be given the same one,
by --token-file FILE or in the variable MUSTER_TOKEN.

Examples:
  (umask 077; muster token > token)
  kubectl create secret generic train-token --from-file=token
)";

constexpr auto kSubcommands = std::to_array<Subcommand>({
    {Command::Check, "check", kCheckIntroduction, &kCheckOptions, read_check_line, run_check},
    {Command::Doctor, "doctor", kDoctorIntroduction, &kDoctorOptions, read_options_line, run_doctor},
    {Command::Token, "token", kTokenIntroduction, &kTokenOptions, read_options_line, run_token},
    {Command::Last, "last", kLastIntroduction, &kLastOptions, read_last_line, run_last},
    {Command::Status, "status", kStatusIntroduction, &kStatusOptions, read_options_line, run_control},
    {Command::Stacks, "stacks", kStacksIntroduction, &kStacksOptions, read_options_line, run_control},
    {Command::Stacks, "dump", kStacksIntroduction, &kStacksOptions, read_options_line, run_control},
    {Command::Stop, "stop", kStopIntroduction, &kStopOptions, read_options_line, run_control},
    {Command::Suspend, "suspend", kSuspendIntroduction, &kSuspendOptions, read_options_line, run_control},
    {Command::Render, "render", kRenderIntroduction, &kRenderOptions, read_render_line, run_render},
});

std::string spelled(const Option& option) {
  std::string text = option.letter != '\0' ? std::string("-") + option.letter + ", " : "    ";
  text += "--" + std::string(option.name);
  if (option.argument != nullptr) {
    text += (option.may_lack_value() ? "" : " ") + std::string(option.argument);
  }
  return text;
}

/// The options under their sections' headings, which `begin` and `end` enclose. A section's options stand together.
std::string entries_of(std::span<const Option> table, const char* begin, const char* end, const auto& entry) {
  std::string text;
  std::string_view section;
  for (const Option& option : table) {
    if (std::exchange(section, option.section) != option.section) {
      text.append(begin).append(section).append(end);
    }
    text += entry(option);
  }
  return text;
}

/// The options under their headings, for --help.
std::string help_of(std::span<const Option> table) {
  return entries_of(table, "\n", ":\n", [](const Option& option) { return help_entry(spelled(option), option.help); });
}

/// Escapes text for roff, which reads "-" as a hyphen and a leading "." or "'" as a request.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '-' || c == '\\') {
      escaped += '\\';
    } else if ((c == '.' || c == '\'') && (escaped.empty() || escaped.back() == '\n')) {
      escaped += "\\&";
    }
    escaped += c;
  }
  return escaped;
}

/// The options under their headings, for the manual page.
std::string man_entries(std::span<const Option> table) {
  return entries_of(table, ".SS ", "\n", [](const Option& option) {
    return ".TP\n.B " + roff(trim(spelled(option))) + "\n" + roff(option.help) + "\n";
  });
}

}  // namespace

std::string help_text() {
  return kIntroduction + help_of(own_options().options) + kClosing;
}

std::span<const Subcommand> subcommands() {
  return kSubcommands;
}

const Subcommand* find_subcommand(Command command) {
  const auto found = std::ranges::find(kSubcommands, command, &Subcommand::command);
  return found == kSubcommands.end() ? nullptr : &*found;
}

std::string help_of(const Subcommand& subcommand) {
  return subcommand.introduction + help_of(subcommand.options->options);
}

std::string man_page() {
  std::string text = ".TH MUSTER 1 \"2026-11-21\" \"muster " MUSTER_VERSION
                     "\" \"User Commands\"\n"
                     ".\\\" SPDX-License-Identifier: Apache-2.0\n"
                     ".SH NAME\nmuster \\- start and watch the processes of a distributed job\n"
                     ".SH SYNOPSIS\n"
                     ".B muster\n[options] [\\-\\-] program [arguments...]\n.br\n"
                     ".B muster plan\n[\\-\\-json] [options] \\-\\- program [arguments...]\n.br\n"
                     ".B muster explain\n[options]\n.br\n"
                     ".B muster explain\nCODE|MESSAGE\n.br\n"
                     ".B muster check ranktable\n[\\-\\-json] FILE\n.br\n"
                     ".B muster doctor\n[\\-\\-json]\n.br\n"
                     ".B muster last\n[\\-\\-json] [N]\n.br\n"
                     ".B muster status\n[\\-\\-watch] [\\-\\-json]\n.br\n"
                     ".B muster stacks\n[\\-\\-json]\n.br\n"
                     ".B muster stop\n[\\-\\-grace SECONDS]\n.br\n"
                     ".B muster suspend\n[\\-\\-within SECONDS]\n.br\n"
                     ".B muster token\n.br\n"
                     ".B muster render\nKIND [options] \\-\\- program [arguments...]\n"
                     ".SH DESCRIPTION\n.nf\n";
  text += roff(std::string_view(kIntroduction).substr(std::string_view(kIntroduction).find("Starts")));
  text += ".fi\n.SH OPTIONS\n" + man_entries(own_options().options);
  for (const Command command : {Command::Check, Command::Doctor, Command::Last, Command::Status, Command::Stacks,
                                Command::Stop, Command::Suspend, Command::Token, Command::Render}) {
    const Subcommand& subcommand = *find_subcommand(command);
    text += ".SH " + variable_spelling(subcommand.name) + "\n.nf\n" + roff(subcommand.introduction) + ".fi\n";
    text += man_entries(subcommand.options->options);
  }
  return text + ".SH NOTES\n" + roff(trim(kClosing)) + "\n";
}

Result<std::string> completion_script(const Sourced<std::string>& shell) {
  std::string words = "run plan explain";
  std::vector<CompletedCommand> inner;
  for (const Subcommand& subcommand : kSubcommands) {
    const std::string kinds = subcommand.command == Command::Check    ? "ranktable"
                              : subcommand.command == Command::Render ? join(render::manifest_kinds(), " ")
                                                                      : "";
    inner.push_back({subcommand.name, subcommand.options->options, kinds});
    words += std::string(" ") + subcommand.name;
  }
  for (const CompatLauncher& compat : compat_launchers()) {
    words += std::string(" ") + compat.name;
  }
  return completion_script(shell, {"muster", own_options().options, words}, inner);
}

}  // namespace muster
