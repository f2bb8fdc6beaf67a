// The other launchers whose command lines muster reads.
#include "base/text.hpp"
#include "compat/front_end.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

constexpr const char* kAccelerate =
    "Nodes meet before anything starts, fail and restart together; the first failure is named, and "
    "its exit code is the job's.";

constexpr auto kFrontEnds = std::to_array<CompatLauncher>({
    {"torchrun",
     "torchrun",
     "script.py [arguments...]",
     "Nodes meet before anything starts, fail and restart together; the first failure is named, "
     "and "
     "its exit code is the job's.",
     "PET_",
     torchrun_options,
     translate_torchrun},
    {"torch.distributed.run",
     "torchrun",
     "script.py [arguments...]",
     "The same as torchrun, for lines that begin with 'python -m torch.distributed.run'.",
     "PET_",
     torchrun_options,
     translate_torchrun},
    {"torch.distributed.launch",
     "torchrun",
     "script.py [arguments...]",
     "torchrun for scripts that read --local-rank, for lines that begin with 'python -m "
     "torch.distributed.launch'.",
     "PET_",
     torch_launch_options,
     translate_torch_launch},
    {"msrun",
     "msrun",
     "script.py [arguments...]",
     "Nodes may have different numbers of workers; the first failure is named, and its exit code "
     "is "
     "the job's; no process outlives the job.",
     nullptr,
     msrun_options,
     translate_msrun},
    {"deepspeed",
     "deepspeed",
     "script.py [arguments...]",
     "Hosts of a hostfile are reached without pdsh, by ssh alone. The first failure is named, its "
     "exit "
     "code is the job's, and nothing is left behind on any host.",
     nullptr,
     deepspeed_options,
     translate_deepspeed},
    {"mpirun",
     "mpirun",
     "program [arguments...]",
     "Ranks start without mpirun and without ssh where muster can do all that is asked for. Else "
     "muster starts mpirun, which gets its own options as they are. The first failure is named, "
     "its exit code is the job's, and nothing is left behind on any host.",
     nullptr,
     mpirun_options,
     translate_mpirun,
     Syntax::OpenMpi,
     "mpiexec orterun prterun mpirun.openmpi mpiexec.openmpi",
     "mpirun (Open MPI)"},
    {.name = "accelerate",
     .mode = "accelerate",
     .program = "script.py [arguments...]",
     .summary = kAccelerate,
     .variables = nullptr,
     .options = accelerate_options,
     .translate = translate_accelerate,
     .aliases = "accelerate.commands.accelerate_cli",
     .subcommand = "launch",
     .original = "accelerate launch"},
    {.name = "accelerate-launch",
     .mode = "accelerate",
     .program = "script.py [arguments...]",
     .summary = kAccelerate,
     .variables = nullptr,
     .options = accelerate_options,
     .translate = translate_accelerate,
     .aliases = "accelerate.commands.launch",
     .original = "accelerate launch"},
    {.name = "paddle.distributed.launch",
     .mode = "paddle",
     .program = "script.py [arguments...]",
     .summary =
         "Nodes meet before anything starts, and need no etcd for that; the first failure is "
         "named, its exit code is the job's, and no process outlives the job.",
     .variables = "PADDLE_",
     .options = paddle_options,
     .translate = translate_paddle,
     .aliases = "fleetrun",
     .variables_win = true},
    {.name = "colossalai",
     .mode = "torchrun",
     .program = "script.py [arguments...]",
     .summary =
         "Hosts are reached by ssh alone, without fabric, and arguments arrive as they are. The "
         "first failure is named, its exit code is the job's, and nothing is left behind on "
         "any host.",
     .variables = nullptr,
     .options = colossalai_options,
     .translate = translate_colossalai,
     .syntax = Syntax::Click,
     .subcommand = "run",
     .original = "colossalai run"},
    {.name = "horovodrun",
     .mode = "horovod",
     .program = "program [arguments...]",
     .summary =
         "Ranks meet through gloo without ssh, or as ranks of MPI. The first failure is named, its "
         "exit code is the job's, and nothing is left behind on any host.",
     .variables = nullptr,
     .options = horovodrun_options,
     .translate = translate_horovodrun,
     .aliases = "horovod.runner horovod.runner.launch"},
});

bool is_called(const CompatLauncher& one, std::string_view name) {
  const std::vector<std::string> aliases = split(one.aliases == nullptr ? "" : one.aliases, ' ');
  return name == one.name || std::find(aliases.begin(), aliases.end(), name) != aliases.end();
}

}  // namespace

std::span<const CompatLauncher> compat_launchers() {
  return kFrontEnds;
}

const CompatLauncher* find_front_end(std::string_view name) {
  const auto at = std::find_if(kFrontEnds.begin(),
                               kFrontEnds.end(),
                               [&](const CompatLauncher& one) { return is_called(one, name); });
  return at == kFrontEnds.end() ? nullptr : &*at;
}

std::string command_of(const CompatLauncher& compat) {
  const std::string name = compat.name;
  return compat.subcommand == nullptr ? name : name + " " + compat.subcommand;
}

std::string original_of(const CompatLauncher& compat) {
  return compat.original == nullptr ? compat.name : compat.original;
}

}  // namespace muster
