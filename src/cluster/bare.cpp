// MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE without any other sign: they count nodes, as the
// platforms that set only these mean them (PAI-DLC, AIHC, PyTorchJob up to 1.6).
#include "platform.hpp"

namespace muster {

namespace {

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  return first_set(snapshot, {"RANK", "WORLD_SIZE"});
}

Result<Findings> read_platform(const Snapshot& snapshot) {
  Findings findings;
  if (auto read = read_world_size(findings, snapshot); !read) {
    return read.error();
  }
  if (auto read = read_into(findings.node_rank, snapshot, "RANK", read_node_rank); !read) {
    return read.error();
  }
  if (auto read = read_into(findings.master_address, snapshot, "MASTER_ADDR", read_address);
      !read) {
    return read.error();
  }
  if (auto read = read_into(findings.master_port, snapshot, "MASTER_PORT", read_port); !read) {
    return read.error();
  }
  return findings;
}

}  // namespace

const Platform kBare = {"bare", "RANK or WORLD_SIZE", find_sign, read_platform};

}  // namespace muster
