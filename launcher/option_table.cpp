// The table of muster's options, and what looks like one of them and is not.
#include "option_rows.hpp"
#include "options.hpp"

#include "base/text.hpp"
#include "platforms/cluster.hpp"
#include "environment/marker.hpp"
#include "environment/worker_variables.hpp"
#include "mpi/agent_call.hpp"

#include <array>

namespace muster {

namespace {

/// Our marker; what workers find, in which another muster may run; what muster's own processes for mpirun are told; the token, for which there is no flag since command lines are public; and what others
/// mean by a name of ours: images say which version they hold.
constexpr std::array<std::string_view, 15> kNoOptions = {kMarkerVariable,
                                                         "MUSTER_TOKEN",
                                                         "MUSTER_VERSION",
                                                         kControlSocketVariable,
                                                         kSuspendFileVariable,
                                                         kHeartbeatFileVariable,
                                                         kRestartCountVariable,
                                                         kLastVerdictVariable,
                                                         kJobStateVariable,
                                                         mpi::variable::kSecret,
                                                         mpi::variable::kEndpoint,
                                                         mpi::variable::kDaemons,
                                                         mpi::variable::kHostfile,
                                                         mpi::variable::kInterfaces,
                                                         mpi::variable::kShared};

/// Of mpirun, srun, DeepSpeed, msrun and others.
constexpr auto kOtherNames = std::to_array<OtherName>({
    {"n", "nproc-per-node"},
    {"np", "nproc-per-node"},
    {"gpus", "nproc-per-node"},
    {"num-gpus", "nproc-per-node"},
    {"npus", "nproc-per-node"},
    {"ntasks-per-node", "nproc-per-node"},
    {"local-worker-num", "nproc-per-node"},
    {"worker-num", "total-workers"},
    {"ntasks", "total-workers"},
    {"N", "nnodes"},
    {"nodes", "nnodes"},
    {"num-nodes", "nnodes"},
});

/// The platforms are listed by those who read them.
auto with_platforms(const std::string& choices) {
  auto table = kOptionRows;
  for (Option& option : table) {
    if (std::string_view(option.name) == "platform") {
      option.choices = choices.c_str();
    }
  }
  return table;
}

}  // namespace

OptionTable own_options() {
  static const std::string choices = join(platform_names(), " ");
  static const auto table = with_platforms(choices);
  return {table, kNoOptions, kOtherNames};
}

}  // namespace muster
