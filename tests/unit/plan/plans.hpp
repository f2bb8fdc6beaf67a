#pragma once

// Clusters, templates and jobs in one line each, for the tests of the plan stage.

#include "plan/launch_plan.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster {

inline Cluster cluster_of(std::vector<int> slots, int node_rank) {
  Cluster cluster;
  cluster.platform = "flags";
  cluster.job.most_nodes = static_cast<int>(slots.size());
  cluster.job.least_nodes = cluster.job.most_nodes;
  cluster.node.rank = NodeRank{node_rank};
  cluster.node.slots = slots[static_cast<std::size_t>(node_rank)];
  cluster.hosts.resize(slots.size());
  cluster.slots = std::move(slots);
  cluster.master_address = "head";
  cluster.master_port = 29'500;
  cluster.gang_port = cluster.job.most_nodes > 1 ? 29'500 : 0;
  return cluster;
}

inline RoleTemplate role(const std::string& name, RoleCount count) {
  RoleTemplate role;
  role.name = name;
  role.count = count;
  role.environment = {{"ROLE", "{role}"},
                      {"RANK", "{global_rank}"},
                      {"ROLE_RANK", "{role_rank}/{role_world_size}"},
                      {"LOCAL", "{local_rank}/{local_world_size}"},
                      {"WORLD", "{world_size}"}};
  return role;
}

inline ChosenMode mode_of(std::vector<RoleTemplate> roles) {
  return {ModeTemplate{"own", {}, std::move(roles), {}}, from_flag("--template")};
}

inline Snapshot surroundings(std::map<std::string, std::string> variables = {}) {
  Snapshot snapshot;
  snapshot.variables = std::move(variables);
  snapshot.working_directory = "/home/user/job";
  snapshot.cores = {.count = 96, .source = "affinity"};
  return snapshot;
}

inline JobRequest job_of(std::vector<std::string> program) {
  JobRequest job;
  job.program = std::move(program);
  return job;
}

/// "worker 8: ROLE_RANK 8/16, LOCAL 0/8" for each process: what tells them apart.
inline std::vector<std::string> described(const LaunchPlan& plan) {
  std::vector<std::string> lines;
  for (const WorkerPlan& worker : plan.workers) {
    EXPECT_EQ(worker.role, worker.environment.at("ROLE"));
    EXPECT_EQ(to_string(worker.global_rank), worker.environment.at("RANK"));
    EXPECT_EQ(std::to_string(plan.world_size), worker.environment.at("WORLD"));
    lines.push_back(worker.role + " " + to_string(worker.global_rank) + ": role " + worker.environment.at("ROLE_RANK") +
                    ", local " + worker.environment.at("LOCAL"));
  }
  return lines;
}

}  // namespace muster
