// Kubeflow's PaddleJob, in its collective form: PADDLE_NNODES counts pods, each of which is a node. No
// variable says which of them this is: PADDLE_MASTER is the own address on the first worker and its name
// on the others, and the others are numbered as they come.
// Source: kubeflow/training-operator, pkg/controller.v1/paddlepaddle/envvar.go.
#include "platforms/hosts.hpp"
#include "platforms/platform.hpp"

#include <array>

namespace muster {
namespace {

constexpr std::array<const char*, 1> kCounts = {"PADDLE_NNODES"};

/// The trainers of paddle.distributed.launch, and muster's own, have these two as well.
std::optional<std::string> find_sign(const Snapshot& snapshot) {
  const bool is_job = snapshot.has("PADDLE_NNODES") && snapshot.has("PADDLE_MASTER");
  return is_job && !snapshot.has("PADDLE_TRAINER_ID") ? std::optional<std::string>("PADDLE_NNODES")
                                                      : std::nullopt;
}

/// With Master replicas these are parameter servers, and the workers their trainers.
Error wrong_roles(const Sourced<std::string>& role) {
  return Error{blame(role.source),
               role.source.name + " is '" + role.value +
                   "': this PaddleJob has Master replicas, which are parameter servers; leave them "
                   "out, or give --nnodes if all pods do the same"};
}

Result<PlatformFacts> read_platform(const Snapshot& snapshot) {
  PlatformFacts facts;
  if (auto read = read_meeting_point(facts, snapshot, "PADDLE_MASTER"); !read) {
    return read.error();
  }
  facts.job_id = sourced_variable(snapshot, "PADDLE_JOB_ID");
  for (const char* const name : {"PADDLE_SERVER_NUM", "PADDLE_TRAINER_NUM"}) {
    if (const auto role = sourced_variable(snapshot, name)) {
      facts.no_nodes = wrong_roles(*role);
      return facts;
    }
  }
  std::optional<Sourced<NodeRange>> nodes;
  if (auto read = read_into(nodes, snapshot, "PADDLE_NNODES", read_node_range); !read) {
    return read.error();
  }
  set_nodes(facts, *nodes);
  return facts;
}

}  // namespace

const Platform kPaddlejob = {"paddlejob",
                             "PADDLE_NNODES with PADDLE_MASTER",
                             find_sign,
                             read_platform,
                             kCounts,
                             /*may_lack_rank=*/true};

}  // namespace muster
