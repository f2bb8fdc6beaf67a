// Kubeflow's MPIJob, and the MPI runtimes of Trainer v2. Only the launcher's pod is told who the workers
// are, by a hostfile; on the workers runs sshd until somebody starts a program there. A muster in the pod
// of the launcher would be alone, or wait for others that nobody starts: it is refused, with what does start
// them. What mpirun has started is mpirun's.
// Source: kubeflow/mpi-operator, pkg/controller/mpi_job_controller.go; kubeflow/trainer, the plugin mpi.
#include "platforms/host_lists.hpp"
#include "platforms/platform.hpp"

#include "environment/own_host.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

constexpr const char* kHostfile = "/etc/mpi/hostfile";
constexpr std::array<const char*, 1> kCounts = {kHostfile};

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  if (snapshot.has("K_MPI_JOB_ROLE")) {
    return "K_MPI_JOB_ROLE";
  }
  for (const char* const name :
       {"OMPI_MCA_orte_default_hostfile", "I_MPI_HYDRA_HOST_FILE", "HYDRA_HOST_FILE"}) {
    if (snapshot.variable(name) == kHostfile) {
      return name;
    }
  }
  return std::nullopt;
}

Error has_no_starter(const Sourced<std::string>& text, const std::string& what) {
  return Error{ErrorKind::BadEnvironment,
               text.source.name + " is '" + text.value + "', and " + what +
                   "; in the pod of the launcher 'muster --hostfile " + kHostfile +
                   "' starts it on all hosts of the job"};
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  PlatformFacts facts;
  const Sourced<std::string> sign = *sourced_variable(snapshot, *find_sign(snapshot));
  const auto file = snapshot.files.find(kHostfile);
  if (file == snapshot.files.end()) {
    facts.no_nodes = has_no_starter(sign, "nothing here says which hosts the job has");
    return facts;
  }
  const auto list = read_hostfile({file->second, {SourceKind::File, kHostfile}});
  if (!list) {
    return list.error();
  }
  const auto own = std::find_if(list->value.begin(), list->value.end(), [&](const HostSlots& host) {
    return is_this_host(host.host, snapshot);
  });
  if (own == list->value.end() || list->value.size() > 1) {
    facts.no_nodes = has_no_starter(sign, "nothing starts muster on the workers");
    return facts;
  }
  facts.nodes = {1, list->source};
  if (own->slots) {
    facts.slots = {std::to_string(*own->slots), list->source};
  }
  return facts;
}

}  // namespace

const Platform kMpijob = {
    "mpijob", "K_MPI_JOB_ROLE or a hostfile in /etc/mpi", find_sign, read_platform, kCounts};

}  // namespace muster
