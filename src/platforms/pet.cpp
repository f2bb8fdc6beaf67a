// PET_*: torchrun's own options as variables, which Kubeflow's Trainer v2 and PyTorchJob set.
// Where PyTorchJob sets RANK and WORLD_SIZE beside them, their unit depends on its version, so
// only PET_* is read.
#include "platforms/hosts.hpp"
#include "platforms/platform.hpp"

namespace muster {
namespace {

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  return first_set(snapshot, {"PET_NNODES"});
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  PlatformFacts facts;
  std::optional<Sourced<NodeRange>> nodes;
  if (auto read = read_into(nodes, snapshot, "PET_NNODES", read_node_range); !read) {
    return read.error();
  }
  if (nodes) {
    set_nodes(facts, *nodes);
  }
  if (auto read = read_into(facts.node_rank, snapshot, "PET_NODE_RANK", read_node_rank); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.master_address, snapshot, "PET_MASTER_ADDR", read_address);
      !read) {
    return read.error();
  }
  if (auto read = read_into(facts.master_port, snapshot, "PET_MASTER_PORT", read_port); !read) {
    return read.error();
  }
  if (auto read = read_meeting_point(facts, snapshot, "PET_RDZV_ENDPOINT"); !read) {
    return read.error();
  }
  facts.slots = sourced_variable(snapshot, "PET_NPROC_PER_NODE");
  facts.job_id = sourced_variable(snapshot, "PET_RDZV_ID");
  return facts;
}

}  // namespace

const Platform kPet = {.name = "pet",
                       .signs = "PET_NNODES",
                       .find_sign = find_sign,
                       .read = read_platform,
                       .may_lack_rank = true};

}  // namespace muster
