// msrun's options, of MindSpore 2.3 to 2.10, and what becomes of each.
// Facts: mindspore/parallel/cluster/run.py and process_entity/_api.py.
#include "compat/front_end.hpp"

#include <array>

namespace muster {
namespace {

constexpr auto kTable = std::to_array<CompatOption>({
    {"worker_num",
     '\0',
     "N",
     OptionSupport::Better,
     "Workers of the job, 8 if it is not given. The nodes may have different numbers of them.",
     "total-workers"},
    {"local_worker_num",
     '\0',
     "N",
     OptionSupport::Same,
     "Workers on this node, 8 if it is not given. As many as --worker_num: the job has one node.",
     "nproc-per-node"},
    {"master_addr",
     '\0',
     "HOST",
     OptionSupport::Better,
     "A name, an address of IPv4 or IPv6, or that of a service. If it is not given, the platform "
     "says "
     "it."},
    {"master_port",
     '\0',
     "PORT",
     OptionSupport::Better,
     "MindSpore's scheduler listens there and the agents meet beside it. If it is not given, the "
     "agents meet at 8118 and the scheduler takes a free port, so that two jobs do not clash."},
    {"node_rank",
     '\0',
     "R",
     OptionSupport::Better,
     "-1 or not given: by the platform, else by arrival; ranks are known before the workers start "
     "either way."},
    {"log_dir",
     '\0',
     "DIR",
     OptionSupport::Better,
     "scheduler.log and worker_<rank>.log, in the current folder if it is not given. Ranks are "
     "those "
     "of the job, so that nodes can share it.",
     "log-dir"},
    {"join",
     '\0',
     "WHETHER",
     OptionSupport::Better,
     "muster always waits: False leaves nobody who sees a failure. true and false are understood, "
     "too.",
     nullptr,
     "True False true false",
     true},
    {"cluster_time_out",
     '\0',
     "SECONDS",
     OptionSupport::Better,
     "How long all nodes are waited for, here and by MindSpore. Negative: a year.",
     "set:cluster_time_out"},
    {"bind_core",
     '\0',
     "HOW",
     OptionSupport::Better,
     "True, False or a JSON object, by system calls.",
     "bind-core",
     "True False"},
    {"bind_numa",
     '\0',
     "HOW",
     OptionSupport::Better,
     "True, False, a JSON object or a file, by system calls; no numactl is needed.",
     "bind-numa",
     "True False"},
    {"sim_level",
     '\0',
     "LEVEL",
     OptionSupport::Same,
     "A dry run on this node, without a scheduler. Else MS_SIMULATION_LEVEL, beside which "
     "RANK_SIZE is "
     "stronger than --worker_num.",
     "set:sim_level",
     "-1 0 1 2 3",
     true},
    {"sim_rank_id",
     '\0',
     "R",
     OptionSupport::Same,
     "The one rank of a dry run, below --worker_num; -1: all of this node. Else RANK_ID."},
    {"rank_table_file",
     '\0',
     "FILE",
     OptionSupport::Better,
     "A rank table of any form, which is waited for; RANK_TABLE_FILE is a copy of it."},
    {"worker_log_name",
     '\0',
     "NAME",
     OptionSupport::Same,
     "What a worker's log is called, with {ip} and {hostname}; _<rank>.log follows."},
    {"tail_worker_log",
     '\0',
     "RANKS",
     OptionSupport::Better,
     "Ranks of the job whose lines are on the console, -1 for all; whole lines with their rank, "
     "and "
     "no process of tail."},
});

}  // namespace

std::span<const CompatOption> msrun_options() {
  return kTable;
}

}  // namespace muster
