// Started by mpirun, one process for each rank: Open MPI 4 and 5 (PMIx), Hydra as of MPICH and Intel MPI.
// All of them count processes. OMPI_COMM_WORLD_NODE_RANK is a rank among the processes of this host, over all
// jobs: nothing is read from it.
// Under srun the same PMI_* and PMIX_* variables come from Slurm's own plugins: only OMPI_COMM_WORLD_SIZE
// and MPI_LOCALNRANKS are mpirun's.
// Where several hosts take part nothing says where rank 0 is: OMPI_MCA_orte_hnp_uri is mpirun's own host.
// Source: Open MPI, "Environment variables set by mpirun" (docs.open-mpi.org); MPICH, src/pm/hydra,
// "Using the Hydra Process Manager".
#include "platforms/share.hpp"

#include "base/digest.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

struct Launcher {
  const char* sign;
  TaskVariables names;
  const char* advice;  ///< how it is told where rank 0 is
};

constexpr std::array<Launcher, 2> kLaunchers = {{
    {"OMPI_COMM_WORLD_SIZE",
     {"OMPI_COMM_WORLD_RANK",
      "OMPI_COMM_WORLD_SIZE",
      "OMPI_COMM_WORLD_LOCAL_RANK",
      "OMPI_COMM_WORLD_LOCAL_SIZE"},
     "name that host, by mpirun -x MASTER_ADDR=HOST or --master-addr"},
    {"MPI_LOCALNRANKS",
     {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
     "name that host, by mpirun -genv MASTER_ADDR HOST or --master-addr"},
}};

constexpr std::array<const char*, 3> kCounts = {
    "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"};

/// One rank alone is no reason to leave the platform around it unasked.
const Launcher* find_launcher(const Snapshot& snapshot) {
  const auto at = std::find_if(kLaunchers.begin(), kLaunchers.end(), [&](const Launcher& launcher) {
    return snapshot.has(launcher.sign) && snapshot.variable(launcher.names.size) != "1";
  });
  return at == kLaunchers.end() ? nullptr : &*at;
}

/// A launcher of PMIx' that tells a process its rank, and not of how many: prun, or another of its kind.
/// Where a scheduler has started us by PMIx, its own variables say more.
bool is_of_unknown_size(const Snapshot& snapshot) {
  return snapshot.has("PMIX_RANK") && snapshot.has("PMIX_NAMESPACE") &&
         !first_set(snapshot,
                    {"OMPI_COMM_WORLD_SIZE",
                     "MPI_LOCALNRANKS",
                     "SLURM_JOB_ID",
                     "FLUX_JOB_ID",
                     "JSM_NAMESPACE_SIZE"});
}

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  if (const Launcher* const launcher = find_launcher(snapshot)) {
    return launcher->sign;
  }
  return is_of_unknown_size(snapshot) ? std::optional<std::string>("PMIX_RANK") : std::nullopt;
}

Error unknown_size(const Snapshot& snapshot) {
  return Error{ErrorKind::BadEnvironment,
               "PMIX_RANK is '" + *snapshot.variable("PMIX_RANK") +
                   "', but its launcher does not say how many ranks there are; start muster by "
                   "mpirun, or one on each host with --nnodes, --node-rank and --master-addr"};
}

/// What all ranks of this start share. Of Hydra's it is the socket to the proxy that has started those of
/// this host.
Sourced<std::string> find_id(const Snapshot& snapshot, const PlatformFacts& facts) {
  if (const auto name_space = sourced_variable(snapshot, "PMIX_NAMESPACE")) {
    const bool is_secret = name_space->value.starts_with("muster-");  // a job of ours
    return is_secret ? Sourced<std::string>{digest_of(name_space->value), name_space->source}
                     : *name_space;
  }
  const auto descriptor = sourced_variable(snapshot, "HYDI_CONTROL_FD");
  const auto socket = snapshot.files.find("/proc/self/fd/" + (descriptor ? descriptor->value : ""));
  const bool is_known = descriptor && socket != snapshot.files.end() && are_all_here(facts);
  return is_known ? Sourced<std::string>{std::string(trim(socket->second)), descriptor->source}
                  : Sourced<std::string>{};
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  const Launcher* const launcher = find_launcher(snapshot);
  PlatformFacts facts;
  if (launcher == nullptr) {
    facts.no_nodes = unknown_size(snapshot);
    return facts;
  }
  if (auto read = read_tasks(facts, snapshot, launcher->names); !read) {
    return read.error();
  }
  if (auto read = read_meeting_point(facts, snapshot, find_id(snapshot, facts), launcher->advice);
      !read) {
    return read.error();
  }
  return facts;
}

}  // namespace

const Platform kMpirun = {"mpirun",
                          "OMPI_COMM_WORLD_SIZE, MPI_LOCALNRANKS or PMIX_RANK",
                          find_sign,
                          read_platform,
                          kCounts};

}  // namespace muster
