#pragma once

// Surroundings and settings in one line each, for the tests of the cluster stage.

#include "platforms/cluster.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace muster {

using Texts = std::map<std::string, std::string>;

/// A node with eight NVIDIA devices.
inline Snapshot node_with(const Texts& variables) {
  Snapshot snapshot;
  snapshot.variables = variables;
  snapshot.host_name = "node";
  snapshot.devices.nvidia = 8;
  snapshot.cores = {.count = 96, .source = "affinity"};
  return snapshot;
}

/// Options from the command line: {"nnodes", "2"} is --nnodes=2.
inline Settings flags(const Texts& options) {
  Settings settings;
  for (const auto& [name, value] : options) {
    settings.set(name, {value, from_flag("--" + name)});
  }
  return settings;
}

/// The source of the decision about `field`; empty when there is none.
inline std::string source_of(const Cluster& cluster, const std::string& field) {
  for (const Decision& decision : cluster.decisions) {
    if (decision.field == field) {
      return decision.source;
    }
  }
  return "";
}

/// "node 1 of 2, 8 slots, 10.0.0.1:2222, hai".
inline std::string in_one_line(const Cluster& cluster) {
  return "node " + to_string(cluster.assumed_rank()) + " of " + std::to_string(cluster.job.most_nodes) + ", " +
         std::to_string(cluster.node.slots) + " slots, " + cluster.master_address + ":" +
         (cluster.master_port ? std::to_string(*cluster.master_port) : "fresh") + ", " + cluster.platform;
}

/// A description in one line, or the error.
inline std::string described(const Snapshot& snapshot, const Settings& settings = {}) {
  const auto cluster = describe_cluster(snapshot, settings);
  return cluster ? in_one_line(*cluster) : std::to_string(cluster.error().exit_code()) + ": " + cluster.error().message;
}

}  // namespace muster
