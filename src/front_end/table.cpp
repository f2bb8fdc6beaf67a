// The other launchers whose command lines muster reads.
#include <muster/base/text.hpp>
#include <muster/front_end/front_end.hpp>

#include <algorithm>
#include <array>

namespace muster {
namespace {

constexpr auto kFrontEnds = std::to_array<FrontEnd>({
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
     true,
     "mpiexec orterun prterun mpirun.openmpi mpiexec.openmpi",
     "mpirun (Open MPI)"},
});

bool is_called(const FrontEnd& one, std::string_view name) {
  const std::vector<std::string> aliases = split(one.aliases == nullptr ? "" : one.aliases, ' ');
  return name == one.name || std::find(aliases.begin(), aliases.end(), name) != aliases.end();
}

}  // namespace

std::span<const FrontEnd> front_ends() {
  return kFrontEnds;
}

const FrontEnd* find_front_end(std::string_view name) {
  const auto at = std::find_if(kFrontEnds.begin(), kFrontEnds.end(), [&](const FrontEnd& one) {
    return is_called(one, name);
  });
  return at == kFrontEnds.end() ? nullptr : &*at;
}

}  // namespace muster
