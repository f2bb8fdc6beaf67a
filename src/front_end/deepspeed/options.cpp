// The options of DeepSpeed's launcher, of DeepSpeed 0.19, and what becomes of each.
// Facts: deepspeed/launcher/runner.py.
#include <muster/front_end/front_end.hpp>

#include <array>

namespace muster {
namespace {

constexpr const char* kNoSsh = "nobody logs in anywhere: each node starts muster itself";

constexpr const char* kElastic =
    "--nnodes MIN:MAX with --max-restarts lets nodes come and go; DeepSpeed's own agent is not "
    "there";

constexpr auto kTable = std::to_array<FrontOption>({
    {"hostfile",
     'H',
     "FILE",
     Fate::Ignored,
     "each node starts muster itself; the platform or --num_nodes and --master_addr describe them"},
    {"include", 'i', "NODES", Fate::Refused, "--devices on each node says which devices are used"},
    {"exclude", 'e', "NODES", Fate::Refused, "--devices on each node says which devices are used"},
    {"num_nodes",
     '\0',
     "N",
     Fate::Better,
     "If it is not given, the platform says how many there are.",
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
    {"launcher", '\0', "NAME", Fate::Ignored, kNoSsh},
    {"launcher_args", '\0', "TEXT", Fate::Ignored, kNoSsh},
    {"module", '\0', nullptr, Fate::Same, "The script is the name of a Python module."},
    {"no_python", '\0', nullptr, Fate::Same, "The script is executed itself.", "no-python"},
    {"no_local_rank",
     '\0',
     nullptr,
     Fate::Same,
     "No --local_rank is given to the script. Without it, it stands behind the script's own "
     "arguments."},
    {"no_ssh", '\0', nullptr, Fate::Same, "That is how muster works."},
    {"no_ssh_check", '\0', nullptr, Fate::Ignored, kNoSsh},
    {"force_multi", '\0', nullptr, Fate::Ignored, "one node is a gang of one"},
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
    {"ssh_port", '\0', "PORT", Fate::Ignored, kNoSsh},
    {"venv_script", '\0', "FILE", Fate::Ignored, kNoSsh},
    {"log_level", '\0', "LEVEL", Fate::Ignored, "--verbose says more"},
    {"quiet", 'q', nullptr, Fate::Ignored, "muster says little as it is"},
});

}  // namespace

std::span<const FrontOption> deepspeed_options() {
  return kTable;
}

}  // namespace muster
