// RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT without any other sign. They count nodes, as the platforms
// that set only these mean them (PyTorchJob up to 1.6), unless what stands beside them proves that
// they count processes: a LOCAL_RANK, or a NODE_RANK or number of nodes that differs. Then the node's
// own names are taken, and sizes are divided; where they cannot be, the user has to say.
#include "platform.hpp"

#include <muster/base/text.hpp>

#include <array>

namespace muster {
namespace {

/// What the variables say, before it is known what they count.
struct Bare {
  std::optional<Sourced<int>> rank;
  std::optional<Sourced<int>> world_size;
  std::optional<Sourced<int>> node_rank;
  std::optional<Sourced<int>> nodes;
  std::optional<Sourced<int>> local_rank;
  std::optional<Sourced<std::string>> slots;
};

Result<Bare> read_bare(const Snapshot& snapshot) {
  Bare bare;
  constexpr const char* kCount = "both are the number of nodes";
  constexpr const char* kRank = "both are the rank of this node";
  const auto read = [&](std::optional<Sourced<int>>& field,
                        std::initializer_list<const char*> names,
                        Result<Sourced<int>> (*reader)(const Sourced<std::string>&),
                        const char* why) {
    return read_agreeing(field, snapshot, names, reader, why);
  };
  for (const Result<>& done :
       {read(bare.rank, {"RANK"}, read_node_rank, ""),
        read(bare.world_size, {"WORLD_SIZE"}, read_node_count, ""),
        read(bare.node_rank, {"NODE_RANK", "GROUP_RANK"}, read_node_rank, kRank),
        read(bare.nodes, {"NNODES", "NUM_NODES", "NODE_COUNT"}, read_node_count, kCount),
        read(bare.local_rank, {"LOCAL_RANK"}, read_node_rank, "")}) {
    if (!done) {
      return done.error();
    }
  }
  bare.slots = sourced_variable(snapshot, "NPROC_PER_NODE");
  return bare;
}

/// What proves that RANK and WORLD_SIZE count processes.
const Sourced<int>* proof_of_processes(const Bare& bare) {
  if (bare.local_rank) {
    return &*bare.local_rank;
  }
  if (bare.node_rank && bare.rank && bare.node_rank->value != bare.rank->value) {
    return &*bare.node_rank;
  }
  const bool differs = bare.nodes && bare.world_size && bare.nodes->value != bare.world_size->value;
  return differs ? &*bare.nodes : nullptr;
}

/// The number of nodes, where WORLD_SIZE counts processes.
Result<> divide(Findings& findings, const Bare& bare, const Sourced<int>& proof) {
  findings.nodes = bare.nodes;
  findings.slots = bare.slots;
  if (!bare.world_size) {
    return {};
  }
  const int processes = bare.world_size->value;
  const auto slots = parse_integer(bare.slots ? bare.slots->value : "", 1, processes);
  if (bare.nodes && processes % bare.nodes->value == 0) {
    const int share = processes / bare.nodes->value;
    if (slots && *slots != share) {
      return contradiction(Sourced<int>{*slots, bare.slots->source},
                           *bare.world_size,
                           bare.nodes->source.name + " is '" + std::to_string(bare.nodes->value) +
                               "', so that each node has " + std::to_string(share));
    }
    findings.slots = {std::to_string(share), bare.world_size->source};
  } else if (bare.nodes) {
    return contradiction(*bare.world_size,
                         *bare.nodes,
                         "the processes of all nodes must be a multiple of the nodes");
  } else if (slots && processes % *slots == 0) {
    findings.nodes = {processes / *slots, bare.world_size->source};
  } else {
    findings.no_nodes = contradiction(*bare.world_size,
                                      proof,
                                      "that proves that it counts processes, and nothing says on "
                                      "how many nodes they are; give --nnodes");
  }
  return {};
}

/// LOCAL_RANK of another process than the first of its node.
Error started_already(const Sourced<int>& local_rank) {
  return Error{ErrorKind::BadEnvironment,
               local_rank.source.name + " is '" + std::to_string(local_rank.value) +
                   "': something starts a process for each worker already, and muster is to be "
                   "started once on a node; to have one worker started as it is, set "
                   "LOCAL_WORLD_SIZE as well"};
}

Result<> read_processes(Findings& findings, const Bare& bare, const Sourced<int>& proof) {
  if (bare.local_rank && bare.local_rank->value > 0) {
    findings.no_rank = started_already(*bare.local_rank);
  } else {
    findings.node_rank = bare.node_rank;
  }
  if (bare.rank) {
    findings.lost.push_back({"nodes.rank",
                             {std::to_string(bare.rank->value), bare.rank->source},
                             proof.source.name + " proves that it counts processes"});
  }
  return divide(findings, bare, proof);
}

/// On the first node both ranks are 0, whatever they count.
bool is_ambiguous(const Bare& bare) {
  return bare.rank && bare.rank->value == 0 && bare.node_rank && !bare.nodes && bare.world_size &&
         bare.world_size->value > 1;
}

void read_nodes(Findings& findings, const Bare& bare) {
  findings.node_rank = bare.rank ? bare.rank : bare.node_rank;
  findings.nodes = bare.world_size ? bare.world_size : bare.nodes;
  findings.slots = bare.slots;
  const bool may_be_processes = bare.node_rank && !bare.rank && bare.world_size && !bare.nodes;
  if (is_ambiguous(bare) || (may_be_processes && bare.world_size->value > 1)) {
    findings.no_nodes = contradiction(*bare.world_size,
                                      *bare.node_rank,
                                      "with both it may count nodes or processes; give --nnodes");
    findings.nodes.reset();
  }
}

std::optional<std::string> find_sign(const Snapshot& snapshot) {
  const auto sign = first_set(snapshot, {"RANK", "WORLD_SIZE"});
  const auto count = first_set(snapshot, {"NNODES", "NUM_NODES", "NODE_COUNT"});
  return sign || !count || !snapshot.has("NODE_RANK") ? sign : count;
}

Result<> read_any(Findings& findings, const Snapshot& snapshot) {
  const auto bare = read_bare(snapshot);
  if (!bare) {
    return bare.error();
  }
  if (const Sourced<int>* const proof = proof_of_processes(*bare)) {
    return read_processes(findings, *bare, *proof);
  }
  read_nodes(findings, *bare);
  return {};
}

Result<Findings> read_platform(const Snapshot& snapshot) {
  Findings findings;
  if (auto read = read_any(findings, snapshot); !read) {
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

constexpr std::array kCounts = {"WORLD_SIZE", "NNODES", "NUM_NODES", "NODE_COUNT"};

}  // namespace

const Platform kBare = {.name = "bare",
                        .signs = "RANK or WORLD_SIZE",
                        .find_sign = find_sign,
                        .read = read_platform,
                        .counts = kCounts};

}  // namespace muster
