// Platform readers for bare variables, as of torch.distributed, and for processes started by mpirun.
//
// RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT without any other sign. They count nodes, as on the platforms that
// set only these (PyTorchJob up to 1.6), unless another variable proves that they count processes: a LOCAL_RANK, a
// NODE_RANK or number of nodes that differs, or a LOCAL_WORLD_SIZE that divides WORLD_SIZE. Then the node variables
// are used, and sizes and RANK are divided; if they cannot be divided, the user has to decide.
#include "base/encoding.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "environment/local_host.hpp"
#include "platforms/cluster.hpp"
#include "platforms/platform.hpp"
#include "platforms/slots.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

/// The variables, before their unit is known.
struct BareVariables {
  std::optional<Sourced<int>> rank;
  std::optional<Sourced<int>> world_size;
  std::optional<Sourced<int>> node_rank;
  std::optional<Sourced<int>> nodes;
  std::optional<Sourced<int>> local_rank;
  std::optional<Sourced<int>> local_size;  ///< only where WORLD_SIZE is several times that
  std::optional<Sourced<std::string>> slots;
};

/// LOCAL_WORLD_SIZE, if WORLD_SIZE is a multiple of it.
std::optional<Sourced<int>> find_local_size(const BareVariables& bare, const Snapshot& snapshot) {
  const auto text = sourced_variable(snapshot, "LOCAL_WORLD_SIZE");
  const auto size = parse_integer(text ? text->value : "", 2, kMostNodes);
  const int all = bare.world_size ? bare.world_size->value : 0;
  if (!size || all <= *size || all % *size != 0) {
    return std::nullopt;
  }
  return Sourced<int>{*size, text->source};
}

Result<BareVariables> read_bare(const Snapshot& snapshot) {
  BareVariables bare;
  bare.rank = TRY(read_variable(snapshot, "RANK", read_node_rank));
  bare.world_size = TRY(read_variable(snapshot, "WORLD_SIZE", read_node_count));
  bare.local_rank = TRY(read_variable(snapshot, "LOCAL_RANK", read_node_rank));
  TRY(read_agreeing(bare.node_rank, snapshot, {"NODE_RANK", "GROUP_RANK"}, read_node_rank,
                    "both are the rank of this node"));
  TRY(read_agreeing(bare.nodes, snapshot, {"NNODES", "NUM_NODES", "NODE_COUNT"}, read_node_count,
                    "both are the number of nodes"));
  bare.slots = sourced_variable(snapshot, "NPROC_PER_NODE");
  bare.local_size = find_local_size(bare, snapshot);
  return bare;
}

/// The variable that proves that RANK and WORLD_SIZE count processes; null: none.
const Sourced<int>* proof_of_processes(const BareVariables& bare) {
  if (bare.local_rank) {
    return &*bare.local_rank;
  }
  if (bare.node_rank && bare.rank && bare.node_rank->value != bare.rank->value) {
    return &*bare.node_rank;
  }
  const bool differs = bare.nodes && bare.world_size && bare.nodes->value != bare.world_size->value;
  if (differs || bare.nodes) {
    return differs ? &*bare.nodes : nullptr;
  }
  return bare.local_size ? &*bare.local_size : nullptr;
}

/// The number of workers of one node, from the variables.
Result<std::optional<Sourced<std::string>>> find_slots_here(const BareVariables& bare) {
  if (!bare.local_size) {
    return bare.slots;
  }
  const Sourced<std::string> local = as_text(*bare.local_size);
  if (bare.slots && parse_integer(bare.slots->value, 1, kMostNodes) && bare.slots->value != local.value) {
    return contradiction(*bare.slots, local, "both are the workers of this node");
  }
  return std::optional(bare.slots ? *bare.slots : local);
}

/// Computes the number of nodes where WORLD_SIZE counts processes.
Result<> divide(PlatformFacts& facts, const BareVariables& bare, const Sourced<int>& proof) {
  facts.nodes = bare.nodes;
  facts.slots = TRY(find_slots_here(bare));
  if (!bare.world_size) {
    return {};
  }
  const int processes = bare.world_size->value;
  const auto slots = parse_integer(facts.slots ? facts.slots->value : "", 1, processes);
  if (bare.nodes && processes % bare.nodes->value == 0) {
    const int share = processes / bare.nodes->value;
    if (slots && *slots != share) {
      return contradiction(Sourced<int>{*slots, facts.slots->source}, *bare.world_size,
                           bare.nodes->source.name + " is '" + std::to_string(bare.nodes->value) +
                               "', so that each node has " + std::to_string(share));
    }
    facts.slots = {std::to_string(share), bare.world_size->source};
  } else if (bare.nodes) {
    return contradiction(*bare.world_size, *bare.nodes, "the processes of all nodes must be a multiple of the nodes");
  } else if (slots && processes % *slots == 0) {
    facts.nodes = {processes / *slots, part_of(bare.world_size->source, " / " + facts.slots->source.name)};
  } else {
    facts.processes = bare.world_size;
    facts.are_processes = true;
    facts.no_nodes = contradiction(
        *bare.world_size, proof,
        "that proves that it counts processes, and nothing says on how many nodes they are; give --nnodes");
  }
  return {};
}

/// Error for a LOCAL_RANK of a process that is not the first of its node.
Error started_already(const Sourced<int>& local_rank) {
  return Error{ErrorKind::BadEnvironment,
               local_rank.source.name + " is '" + std::to_string(local_rank.value) +
                   "': something starts a process for each worker already, and muster is to be started once on a node; "
                   "to have one worker started as it is, set LOCAL_WORLD_SIZE as well"};
}

/// Checks RANK against NODE_RANK: they are equal, or RANK is that of the first process there.
Result<> check_rank_of_process(const BareVariables& bare, int slots) {
  const long long first = static_cast<long long>(bare.node_rank->value) * slots;
  if (bare.rank->value == bare.node_rank->value || bare.rank->value == first) {
    return {};
  }
  return contradiction(*bare.rank, *bare.node_rank,
                       "with " + std::to_string(slots) + " workers on each node the first one " + "there has rank " +
                           std::to_string(first));
}

/// Computes the node from RANK where RANK counts processes.
void divide_rank(PlatformFacts& facts, const BareVariables& bare, int slots) {
  const int rank = bare.rank->value;
  const bool is_above_nodes = facts.nodes && rank >= facts.nodes->value;
  if (!bare.local_rank && !bare.local_size && rank > 0 && !is_above_nodes) {
    return;  // RANK may be either
  }
  const std::string each = std::to_string(slots);
  if (rank % slots == 0) {
    facts.node_rank = {rank / slots, part_of(bare.rank->source, " / " + each)};
    return;
  }
  facts.no_rank =
      Error{ErrorKind::BadEnvironment, bare.rank->source.name + " is '" + std::to_string(rank) + "': with " + each +
                                           " workers on each node no node begins with it, and muster " +
                                           "is to be started once on a node; give --node-rank"};
}

Result<> read_processes(PlatformFacts& facts, const BareVariables& bare, const Sourced<int>& proof) {
  TRY(divide(facts, bare, proof));
  facts.node_rank = bare.node_rank;
  const auto slots = parse_integer(facts.slots ? facts.slots->value : "", 1, kMostNodes);
  if (bare.local_rank && bare.local_rank->value > 0) {
    facts.node_rank.reset();
    facts.no_rank = started_already(*bare.local_rank);
  } else if (bare.rank && slots && bare.node_rank) {
    TRY(check_rank_of_process(bare, *slots));
  } else if (bare.rank && slots) {
    divide_rank(facts, bare, *slots);
  }
  if (bare.rank && (!facts.node_rank || bare.node_rank)) {
    facts.lost.push_back({"nodes.rank", as_text(*bare.rank), proof.source.name + " proves that it counts processes"});
  }
  return {};
}

void read_nodes(PlatformFacts& facts, const BareVariables& bare) {
  facts.node_rank = bare.rank ? bare.rank : bare.node_rank;
  facts.nodes = bare.world_size ? bare.world_size : bare.nodes;
  facts.slots = bare.slots;
  const bool may_be_processes = bare.node_rank && !bare.nodes && bare.world_size;
  if (may_be_processes) {
    facts.processes = bare.world_size;
  }
  // On the first node both ranks are 0 in any unit.
  if (may_be_processes && bare.world_size->value > 1 && (!bare.rank || bare.rank->value == 0)) {
    facts.no_nodes =
        contradiction(*bare.world_size, *bare.node_rank, "with both it may count nodes or processes; give --nnodes");
    facts.nodes.reset();
  }
}

std::optional<std::string> find_bare_sign(const Snapshot& snapshot) {
  const auto sign = first_set(snapshot, {"RANK", "WORLD_SIZE"});
  const auto count = first_set(snapshot, {"NNODES", "NUM_NODES", "NODE_COUNT"});
  return sign || !count || !snapshot.has("NODE_RANK") ? sign : count;
}

Result<> read_bare_platform(PlatformFacts& facts, const Snapshot& snapshot) {
  const auto bare = TRY(read_bare(snapshot));
  if (bare.node_rank && bare.world_size && bare.node_rank->value >= bare.world_size->value) {
    return contradiction(*bare.node_rank, *bare.world_size, "a rank must be below its count");
  }
  if (const Sourced<int>* const proof = proof_of_processes(bare)) {
    return read_processes(facts, bare, *proof);
  }
  read_nodes(facts, bare);
  return {};
}

}  // namespace

const Platform kBare = {.name = "bare",
                        .sign_text = "RANK or WORLD_SIZE",
                        .find_sign = find_bare_sign,
                        .variables = {.address = {"MASTER_ADDR"}, .port = "MASTER_PORT"},
                        .read = read_bare_platform,
                        .counts = {"WORLD_SIZE", "NNODES", "NUM_NODES", "NODE_COUNT"}};

// RANK, WORLD_SIZE and task lists, for launchers that ignore them.

std::optional<BareSign> find_bare_sign(const Snapshot& snapshot, const Settings& settings) {
  const auto request = read_cluster_request(settings);
  const auto choice = request ? choose_platform(snapshot, *request, {}) : Result<Choice>(request.error());
  const bool is_bare = choice && choice->name.empty() && choice->platform != nullptr &&
                       (choice->platform == &kBare || choice->platform->is_list_of_tasks);
  if (!is_bare) {
    return std::nullopt;
  }
  const auto cluster = describe_cluster(snapshot, settings);
  const bool is_whole = cluster && (cluster->job.most_nodes == 1 || !is_loopback(cluster->master_address));
  return BareSign{choice->source, is_whole, choice->platform->is_list_of_tasks};
}

// Processes started by mpirun, one for each rank: Open MPI 4 and 5 (PMIx), Hydra of MPICH and Intel MPI. All
// variables count processes. OMPI_COMM_WORLD_NODE_RANK is a rank among the processes of this host over all jobs, and
// is not read.
// Under srun, Slurm's own plugins set the same PMI_* and PMIX_* variables: only OMPI_COMM_WORLD_SIZE and
// MPI_LOCALNRANKS are mpirun's. With several hosts no variable has the host of rank 0: OMPI_MCA_orte_hnp_uri is
// mpirun's own host.
// Source: Open MPI, "Environment variables set by mpirun" (docs.open-mpi.org); MPICH, src/pm/hydra, "Using the Hydra
// Process Manager".

namespace {

struct Launcher {
  const char* sign;
  TaskVariables names;
  const char* advice;  ///< tells the user how to set the host of rank 0
};

constexpr std::array<Launcher, 2> kLaunchers = {{
    {"OMPI_COMM_WORLD_SIZE",
     {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
     "name that host, by mpirun -x MASTER_ADDR=HOST or --master-addr"},
    {"MPI_LOCALNRANKS",
     {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
     "name that host, by mpirun -genv MASTER_ADDR HOST or --master-addr"},
}};

/// Finds the launcher of several ranks: a single rank does not hide the platform around it.
const Launcher* find_launcher(const Snapshot& snapshot) {
  return first_of(kLaunchers, [&](const Launcher& launcher) {
    return snapshot.has(launcher.sign) && snapshot.variable(launcher.names.size) != "1";
  });
}

std::optional<std::string> find_mpirun_sign(const Snapshot& snapshot) {
  if (const Launcher* const launcher = find_launcher(snapshot)) {
    return launcher->sign;
  }
  // A PMIx launcher that sets a rank but no size: prun, or a similar one. Where a scheduler uses PMIx, its own variables
  // are more complete.
  const bool is_of_unknown_size =
      snapshot.has("PMIX_NAMESPACE") && !first_set(snapshot, {"OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS", "SLURM_JOB_ID",
                                                              "FLUX_JOB_ID", "JSM_NAMESPACE_SIZE"});
  return is_of_unknown_size ? first_set(snapshot, {"PMIX_RANK"}) : std::nullopt;
}

Error unknown_size(const Snapshot& snapshot) {
  return Error{ErrorKind::BadEnvironment,
               "PMIX_RANK is '" + *snapshot.variable("PMIX_RANK") +
                   "', but its launcher does not say how many ranks there are; start muster by mpirun, or one on each "
                   "host with --nnodes, --node-rank and --master-addr"};
}

/// An id that all ranks of this start share. Hydra's is the socket to the proxy that started the ranks of this host.
Sourced<std::string> find_id(const Snapshot& snapshot, const PlatformFacts& facts) {
  if (const auto name_space = sourced_variable(snapshot, "PMIX_NAMESPACE")) {
    const bool is_secret = name_space->value.starts_with("muster-");  // a job started by muster
    return is_secret ? Sourced<std::string>{digest_of(name_space->value), name_space->source} : *name_space;
  }
  const auto descriptor = sourced_variable(snapshot, "HYDI_CONTROL_FD");
  const auto socket = snapshot.files.find("/proc/self/fd/" + (descriptor ? descriptor->value : ""));
  const bool is_known = descriptor && socket != snapshot.files.end() && are_all_here(facts);
  return is_known ? Sourced<std::string>{std::string(trim(socket->second)), descriptor->source}
                  : Sourced<std::string>{};
}

Result<> read_mpirun(PlatformFacts& facts, const Snapshot& snapshot) {
  const Launcher* const launcher = find_launcher(snapshot);
  if (launcher == nullptr) {
    facts.no_nodes = unknown_size(snapshot);
    return {};
  }
  TRY(read_tasks(facts, snapshot, launcher->names));
  return read_meeting_point(facts, snapshot, find_id(snapshot, facts), launcher->advice);
}

}  // namespace

const Platform kMpirun = {.name = "mpirun",
                          .sign_text = "OMPI_COMM_WORLD_SIZE, MPI_LOCALNRANKS or PMIX_RANK",
                          .find_sign = find_mpirun_sign,
                          .read = read_mpirun,
                          .counts = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"}};

}  // namespace muster
