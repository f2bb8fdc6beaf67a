// The options of DeepSpeed's launcher, of DeepSpeed 0.19, and what becomes of each.
// Facts: deepspeed/launcher/runner.py.
#include "compat/front_end.hpp"

#include <array>

namespace muster {
namespace {

constexpr const char* kOwnWay =
    "muster goes to other hosts by itself, through ssh or --remote-shell";

constexpr const char* kElastic =
    "--nnodes MIN:MAX with --max-restarts lets nodes come and go; DeepSpeed's own agent is not "
    "there";

constexpr auto kTable = std::to_array<CompatOption>({
    {"hostfile",
     'H',
     "FILE",
     OptionSupport::Better,
     "Its hosts are started, through ssh. With --no_ssh it says how many nodes there are, and what "
     "this one has; where it may list the nodes that a platform starts, it is ignored. There is no "
     "default "
     "file."},
    {"include",
     'i',
     "NODES",
     OptionSupport::Same,
     "Hosts of the hostfile and their devices, as a@b:0,2; without one, localhost:0,1 are devices "
     "of "
     "this node, by their numbers in CUDA_VISIBLE_DEVICES or the like."},
    {"exclude", 'e', "NODES", OptionSupport::Same, "All but these."},
    {"num_nodes",
     '\0',
     "N",
     OptionSupport::Better,
     "So many of the hosts of the hostfile. If it is not given, and no file is, the platform says "
     "how many there are.",
     "nnodes"},
    {"num_gpus",
     '\0',
     "N",
     OptionSupport::Same,
     "Workers on this node, one for each accelerator if it is not given.",
     "nproc-per-node"},
    {"num_accelerators", '\0', "N", OptionSupport::Same, "The same.", "nproc-per-node"},
    {"elastic_training", '\0', nullptr, OptionSupport::Refused, kElastic},
    {"min_elastic_nodes", '\0', "N", OptionSupport::Refused, kElastic},
    {"max_elastic_nodes", '\0', "N", OptionSupport::Refused, kElastic},
    {"master_port", '\0', "PORT", OptionSupport::Same, "Where the nodes meet.", "master-port"},
    {"master_addr", '\0', "HOST", OptionSupport::Same, "Where the nodes meet.", "master-addr"},
    {"node_rank",
     '\0',
     "R",
     OptionSupport::Better,
     "-1 or not given: by the platform, else by arrival."},
    {"launcher", '\0', "NAME", OptionSupport::Ignored, kOwnWay},
    {"launcher_args", '\0', "TEXT", OptionSupport::Ignored, kOwnWay},
    {"module", '\0', nullptr, OptionSupport::Same, "The script is the name of a Python module."},
    {"no_python",
     '\0',
     nullptr,
     OptionSupport::Same,
     "The script is executed itself.",
     "no-python"},
    {"no_local_rank",
     '\0',
     nullptr,
     OptionSupport::Same,
     "No --local_rank is given to the script. Without it, it stands before the script's own "
     "arguments."},
    {"no_ssh", '\0', nullptr, OptionSupport::Same, "Each node is started by itself."},
    {"no_ssh_check",
     '\0',
     nullptr,
     OptionSupport::Ignored,
     "who cannot be reached is named at once"},
    {"force_multi",
     '\0',
     nullptr,
     OptionSupport::Ignored,
     "a single host of the file is reached as any other"},
    {"save_pid",
     '\0',
     nullptr,
     OptionSupport::Ignored,
     "no process outlives the job that would have to be found"},
    {"enable_each_rank_log",
     '\0',
     "DIR",
     OptionSupport::Better,
     "Files are named by attempt and global rank, and the console has the lines as well.",
     "log-dir"},
    {"autotuning",
     '\0',
     "WHAT",
     OptionSupport::Ignored,
     "the script is run as it is",
     nullptr,
     "tune run",
     true},
    {"bind_cores_to_rank",
     '\0',
     nullptr,
     OptionSupport::Ignored,
     "--bind-core binds workers to cores here"},
    {"bind_core_list",
     '\0',
     "CORES",
     OptionSupport::Ignored,
     "--bind-core binds workers to cores here"},
    {"ssh_port", '\0', "PORT", OptionSupport::Same, "As --remote-shell 'ssh -p PORT'."},
    {"venv_script",
     '\0',
     "FILE",
     OptionSupport::Ignored,
     "PATH and VIRTUAL_ENV go along to other hosts"},
    {"log_level", '\0', "LEVEL", OptionSupport::Ignored, "--verbose says more"},
    {"quiet", 'q', nullptr, OptionSupport::Ignored, "muster says little as it is"},
});

}  // namespace

std::span<const CompatOption> deepspeed_options() {
  return kTable;
}

}  // namespace muster
