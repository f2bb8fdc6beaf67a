// Baidu AIHC (Baige), PyTorch jobs: RANK and WORLD_SIZE count nodes, NPROC_PER_NODE the GPUs of each. Jobs
// of other kinds have AIHC_JOB_NAME, too, and are described by what they set: TF_CONFIG, or nothing.
// Source: Baidu Cloud, AIHC, "List of common environment variables".
#include "platforms/slots.hpp"

namespace muster {
namespace {

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  const bool is_torch = snapshot.has("WORLD_SIZE") || snapshot.has("RANK");
  return is_torch ? first_set(snapshot, {"AIHC_JOB_NAME"}) : std::nullopt;
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  return read_torch_job(snapshot, "AIHC_JOB_NAME");
}

}  // namespace

const Platform kAihc = {
    "aihc", "AIHC_JOB_NAME beside RANK or WORLD_SIZE", find_sign, read_platform};

}  // namespace muster
