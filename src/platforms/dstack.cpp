// dstack: a distributed task runs its commands once on each node, and DSTACK_NODE_RANK counts nodes. RANK
// and WORLD_SIZE are not set. On one node the addresses may be empty. The file of DSTACK_MPI_HOSTFILE
// repeats what DSTACK_NODES_IPS and DSTACK_GPUS_PER_NODE say, and is not read.
// Source: dstack.ai, "Environment variables" of .dstack.yml, and "Distributed tasks".
#include "platforms/hosts.hpp"
#include "platforms/slots.hpp"

#include <array>

namespace muster {
namespace {

constexpr std::array<const char*, 2> kCounts = {"DSTACK_NODES_NUM", "DSTACK_NODES_IPS"};

std::optional<Sourced<std::string>> filled_variable(const Snapshot& snapshot, const char* name) {
  const auto text = sourced_variable(snapshot, name);
  return text && text->value.empty() ? std::nullopt : text;
}

Result<> read_hosts(PlatformFacts& facts, const Snapshot& snapshot) {
  if (auto read = read_into(
          facts.master_address, filled_variable(snapshot, "DSTACK_MASTER_NODE_IP"), read_address);
      !read) {
    return read;
  }
  const auto listed = filled_variable(snapshot, "DSTACK_NODES_IPS");
  if (!listed) {
    return {};
  }
  const auto hosts = read_host_list(*listed);
  return hosts ? take_hosts(facts, *hosts) : hosts.error();
}

Result<> read_slots(PlatformFacts& facts, const Snapshot& snapshot) {
  if (auto read = read_devices(facts, snapshot, "DSTACK_GPUS_PER_NODE"); !read) {
    return read;
  }
  return check_all_devices(facts, snapshot, "DSTACK_GPUS_NUM");
}

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  return first_set(snapshot, {"DSTACK_NODE_RANK", "DSTACK_NODES_NUM"});
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  PlatformFacts facts;
  if (auto read = read_into(facts.nodes, snapshot, "DSTACK_NODES_NUM", read_node_count); !read) {
    return read.error();
  }
  if (auto read = read_into(facts.node_rank, snapshot, "DSTACK_NODE_RANK", read_node_rank); !read) {
    return read.error();
  }
  if (auto read = read_hosts(facts, snapshot); !read) {
    return read.error();
  }
  if (auto read = read_slots(facts, snapshot); !read) {
    return read.error();
  }
  facts.job_id = sourced_variable(snapshot, "DSTACK_RUN_NAME");
  return facts;
}

}  // namespace

const Platform kDstack = {
    "dstack", "DSTACK_NODE_RANK or DSTACK_NODES_NUM", find_sign, read_platform, kCounts};

}  // namespace muster
