// The options of DeepSpeed's launcher, of DeepSpeed 0.19, and what becomes of each.
// Facts: deepspeed/launcher/runner.py.
#include <muster/front_end/front_end.hpp>

#include <array>

namespace muster {
namespace {

constexpr const char* kOwnWay =
    "muster goes to other hosts by itself, through ssh or --remote-shell";

constexpr const char* kElastic =
    "--nnodes MIN:MAX with --max-restarts lets nodes come and go; DeepSpeed's own agent is not "
    "there";

constexpr auto kTable = std::to_array<FrontOption>({
    {"hostfile",
     'H',
     "FILE",
     Fate::Better,
     "Its hosts are started, through ssh. With --no_ssh it says how many nodes there are, and what "
     "this one has; where it may list the nodes that a platform starts, it is ignored. There is no "
     "default "
     "file."},
    {"include",
     'i',
     "NODES",
     Fate::Same,
     "Hosts of the hostfile and their devices, as a@b:0,2; without one, localhost:0,1 are devices "
     "of "
     "this node, by their numbers in CUDA_VISIBLE_DEVICES or the like."},
    {"exclude", 'e', "NODES", Fate::Same, "All but these."},
    {"num_nodes",
     '\0',
     "N",
     Fate::Better,
     "So many of the hosts of the hostfile. If it is not given, and no file is, the platform says "
     "how many there are.",
     "nnodes"},
    {"num_gpus",
     '\0',
     "N",
     Fate::Same,
     "Workers on this node, one for each accelerator if it is not given.",
     "nproc-per-node"},
    {"num_accelerators", '\0', "N", Fate::Same, "The same.", "nproc-per-node"},
    {"elastic_training", '\0', nullptr, Fate::Refused, kElastic},
    {"min_elastic_nodes", '\0', "N", Fate::Refused, kElastic},
    {"max_elastic_nodes", '\0', "N", Fate::Refused, kElastic},
    {"master_port", '\0', "PORT", Fate::Same, "Where the nodes meet.", "master-port"},
    {"master_addr", '\0', "HOST", Fate::Same, "Where the nodes meet.", "master-addr"},
    {"node_rank", '\0', "R", Fate::Better, "-1 or not given: by the platform, else by arrival."},
    {"launcher", '\0', "NAME", Fate::Ignored, kOwnWay},
    {"launcher_args", '\0', "TEXT", Fate::Ignored, kOwnWay},
    {"module", '\0', nullptr, Fate::Same, "The script is the name of a Python module."},
    {"no_python", '\0', nullptr, Fate::Same, "The script is executed itself.", "no-python"},
    {"no_local_rank",
     '\0',
     nullptr,
     Fate::Same,
     "No --local_rank is given to the script. Without it, it stands before the script's own "
     "arguments."},
    {"no_ssh", '\0', nullptr, Fate::Same, "Each node is started by itself."},
    {"no_ssh_check", '\0', nullptr, Fate::Ignored, "who cannot be reached is named at once"},
    {"force_multi",
     '\0',
     nullptr,
     Fate::Ignored,
     "a single host of the file is reached as any other"},
    {"save_pid",
     '\0',
     nullptr,
     Fate::Ignored,
     "no process outlives the job that would have to be found"},
    {"enable_each_rank_log",
     '\0',
     "DIR",
     Fate::Better,
     "Files are named by attempt and global rank, and the console has the lines as well.",
     "log-dir"},
    {"autotuning",
     '\0',
     "WHAT",
     Fate::Ignored,
     "the script is run as it is",
     nullptr,
     "tune run",
     true},
    {"bind_cores_to_rank", '\0', nullptr, Fate::Ignored, "--bind-core binds workers to cores here"},
    {"bind_core_list", '\0', "CORES", Fate::Ignored, "--bind-core binds workers to cores here"},
    {"ssh_port", '\0', "PORT", Fate::Same, "As --remote-shell 'ssh -p PORT'."},
    {"venv_script", '\0', "FILE", Fate::Ignored, "PATH and VIRTUAL_ENV go along to other hosts"},
    {"log_level", '\0', "LEVEL", Fate::Ignored, "--verbose says more"},
    {"quiet", 'q', nullptr, Fate::Ignored, "muster says little as it is"},
});

}  // namespace

std::span<const FrontOption> deepspeed_options() {
  return kTable;
}

}  // namespace muster
