// The options of `muster render`. Nothing else of muster has them.
#include "render.hpp"

#include <array>

namespace muster {
namespace {

constexpr auto kTable = std::to_array<Option>({
    {"name", '\0', "NAME", "Job", "Name of the job, and what its pods' names begin with."},
    {"image", '\0', "IMAGE", "Job", "Image that holds muster and the program."},
    {"nodes", '\0', "N", "Job", "Nodes of the job, each a pod. Default: 1."},
    {"grace",
     '\0',
     "SECONDS",
     "Job",
     "Time between asking workers to end and killing them. The platform is told to leave 15 s "
     "more. Default: 30."},
    {"restarts",
     '\0',
     "N",
     "Job",
     "How often the platform may start the whole job again where muster's exit code says that it "
     "may help. Default: 3."},
    {"time-limit",
     '\0',
     "SECONDS",
     "Job",
     "When the platform ends the job. Default: its own limit."},
    {"port",
     '\0',
     "PORT",
     "Job",
     "Port on the first node where the agents meet. Default: 29500; for slurm one made of the "
     "job's number."},
    {"token-secret",
     '\0',
     "NAME",
     "Job",
     "Secret of Kubernetes whose key 'token' the agents share. Default: the job's name with "
     "-token; for volcano the key of its ssh plugin, for slurm one that the script draws."},
    {"no-token",
     '\0',
     nullptr,
     "Job",
     "Agents share no secret: whoever reaches the port can join."},
    {"namespace", '\0', "NAME", "Job", "Namespace of Kubernetes. Default: kubectl's."},
    {"devices", '\0', "N", "Each node", "Accelerators, and so many workers. Default: 8."},
    {"device-kind",
     '\0',
     "KIND",
     "Each node",
     "Whose: nvidia (the default), ascend or amd.",
     "nvidia ascend amd"},
    {"device-resource",
     '\0',
     "NAME",
     "Each node",
     "What the cluster calls them, such as huawei.com/ascend-1980, or gpu:a100 for slurm. Default: "
     "nvidia.com/gpu, huawei.com/Ascend910, amd.com/gpu; for slurm gpu or npu."},
    {"cpus", '\0', "N", "Each node", "CPUs. Default: not said; for slurm the whole node."},
    {"memory", '\0', "SIZE", "Each node", "Memory, such as 512Gi. Default: as for CPUs."},
    {"shared-memory",
     '\0',
     "SIZE",
     "Each node",
     "Most that /dev/shm may hold, such as 64Gi; it counts as memory. Default: what the node "
     "allows."},
    {"scheduler",
     '\0',
     "NAME",
     "Scheduling",
     "Who starts all pods or none: coscheduling or volcano. Default: volcano for volcano, else the "
     "cluster's own scheduler and --queue.",
     "coscheduling volcano"},
    {"queue",
     '\0',
     "NAME",
     "Scheduling",
     "Queue that admits the job: a partition for slurm, Volcano's where that schedules, else a "
     "LocalQueue of Kueue."},
    {"requeue",
     '\0',
     "HOW",
     "Scheduling",
     "How Slurm queues the job again after a node has failed: usual (the default), or expedite: at "
     "once and before all "
     "others, on the nodes that it had (Slurm 25.11).",
     "usual expedite"},
    {"node-selector",
     '\0',
     "LABELS",
     "Scheduling",
     "Labels of the nodes that may be used, such as pool=train,disk=ssd."},
    {"tolerations",
     '\0',
     "TAINTS",
     "Scheduling",
     "Taints of nodes that may be used all the same, such as "
     "nvidia.com/gpu,pool=train:NoSchedule."},
    {"check-fit",
     '\0',
     "FILE",
     "Does it fit?",
     "Print no manifest, but whether all pods fit into the cluster now: FILE is what 'kubectl get "
     "nodes -o json' prints, - is standard input. Ends with 0 if they do, else with 75."},
    {"pods",
     '\0',
     "FILE",
     "Does it fit?",
     "What 'kubectl get pods -A -o json' prints, unless the first FILE holds it too."},
    {"help", 'h', nullptr, "Help", "Print this text."},
});

/// Of muster itself, sbatch, kubectl and others.
constexpr auto kOtherNames = std::to_array<OtherName>({
    {"nnodes", "nodes"},
    {"N", "nodes"},
    {"n", "namespace"},
    {"nproc-per-node", "devices"},
    {"gpus", "devices"},
    {"gres", "device-resource"},
    {"partition", "queue"},
    {"mem", "memory"},
    {"time", "time-limit"},
    {"shm-size", "shared-memory"},
});

}  // namespace

OptionTable render_options() {
  return {kTable, {}, kOtherNames, "muster render"};
}

}  // namespace muster
