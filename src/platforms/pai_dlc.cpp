// Alibaba Cloud PAI-DLC, PyTorch jobs: RANK and WORLD_SIZE count nodes, NPROC_PER_NODE the GPUs of each. No
// variable of these is its own, so that another one must show it: the job's, or the name of the master.
// Source: Alibaba Cloud, PAI, "Built-in environment variables" of DLC.
#include "platforms/slots.hpp"

namespace muster {
namespace {

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  if (!snapshot.has("NPROC_PER_NODE") || !snapshot.has("WORLD_SIZE")) {
    return std::nullopt;
  }
  const auto own = first_set(snapshot, {"DLC_JOB_ID", "PAI_JOB_ID", "PAI_WORKSPACE_ID"});
  const bool is_named = snapshot.variable("MASTER_ADDR").value_or("").starts_with("dlc");
  return own || !is_named ? own : std::optional<std::string>("MASTER_ADDR");
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  return read_torch_job(snapshot, "DLC_JOB_ID");
}

}  // namespace

const Platform kPaiDlc = {"pai-dlc",
                          "NPROC_PER_NODE beside DLC_JOB_ID, PAI_JOB_ID, PAI_WORKSPACE_ID or a "
                          "MASTER_ADDR that begins with dlc",
                          find_sign,
                          read_platform};

}  // namespace muster
