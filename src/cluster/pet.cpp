// PET_*: torchrun's own options as variables, which Kubeflow's Trainer v2 and PyTorchJob set.
// Where PyTorchJob sets RANK and WORLD_SIZE beside them, their unit depends on its version, so
// only PET_* is read.
#include "platform.hpp"

#include <muster/base/text.hpp>

namespace muster {
namespace {

/// torchrun takes "2" and "MIN:MAX"; a range of one number is that number.
Result<Sourced<int>> read_nnodes(const Sourced<std::string>& text) {
  const std::size_t colon = text.value.find(':');
  if (colon == std::string::npos) {
    return read_node_count(text);
  }
  const std::string least = text.value.substr(0, colon);
  if (least != text.value.substr(colon + 1)) {
    return wrong_value(text, "one number of nodes: a range needs an elastic job, which muster "
                             "cannot start yet");
  }
  return parse_integer(least, 1, kMostNodes) ? read_node_count({least, text.source})
                                             : wrong_value(text, "a number of nodes");
}

/// PET_RDZV_ENDPOINT is "host" or "host:port", the address of a version 6 host in brackets.
Result<> read_endpoint(Findings& findings, const Snapshot& snapshot) {
  const auto endpoint = sourced_variable(snapshot, "PET_RDZV_ENDPOINT");
  if (!endpoint || endpoint->value.empty() || findings.master_address) {
    return {};
  }
  std::string host = endpoint->value;
  const std::size_t colon = host.rfind(':');
  const bool has_port = colon != std::string::npos && host.find(']', colon) == std::string::npos;
  if (has_port) {
    const auto port = read_port({host.substr(colon + 1), endpoint->source});
    if (!port) {
      return wrong_value(*endpoint, "host or host:port");
    }
    findings.master_port = *port;
    host.erase(colon);
  }
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  const auto address = read_address({host, endpoint->source});
  if (!address) {
    return wrong_value(*endpoint, "host or host:port");
  }
  findings.master_address = *address;
  return {};
}

}  // namespace

bool is_pet(const Snapshot& snapshot) { return snapshot.has("PET_NNODES"); }

Result<Findings> read_pet(const Snapshot& snapshot) {
  Findings findings;
  if (auto read = read_into(findings.nodes, snapshot, "PET_NNODES", read_nnodes); !read) {
    return read.error();
  }
  if (auto read = read_into(findings.node_rank, snapshot, "PET_NODE_RANK", read_node_rank); !read) {
    return read.error();
  }
  if (auto read = read_into(findings.master_address, snapshot, "PET_MASTER_ADDR", read_address);
      !read) {
    return read.error();
  }
  if (auto read = read_into(findings.master_port, snapshot, "PET_MASTER_PORT", read_port); !read) {
    return read.error();
  }
  if (auto read = read_endpoint(findings, snapshot); !read) {
    return read.error();
  }
  findings.slots = sourced_variable(snapshot, "PET_NPROC_PER_NODE");
  findings.job_id = sourced_variable(snapshot, "PET_RDZV_ID");
  return findings;
}

}  // namespace muster
