#pragma once

// Does the whole gang fit into a cluster of Kubernetes, before anything is submitted? All of it is pure: JSON as
// kubectl prints it in, an answer out.

#include "base/json_fwd.hpp"
#include "base/result.hpp"
#include "render/pod.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace muster::render {

/// Of each resource, in thousandths: cpu, memory in bytes, nvidia.com/gpu ...
using Amounts = std::map<std::string, std::int64_t, std::less<>>;

struct Taint {
  std::string key;
  std::string value;
  std::string effect;
};

struct Node {
  std::string name;
  std::map<std::string, std::string> labels;
  std::vector<Taint> taints;
  bool is_ready = false;
  bool is_unschedulable = false;
  Amounts allocatable;
};

/// What pods take of a node.
struct PodUse {
  std::int64_t pods = 0;
  Amounts amounts;
};

struct ClusterState {
  std::vector<Node> nodes;
  std::map<std::string, PodUse, std::less<>> taken;  ///< by the name of the node
  std::vector<Amounts> waiting;                      ///< of each pod that has no node yet
  std::set<std::string> seen;                        ///< nodes and pods, each counts once
  bool has_pods = false;
};

/// Adds what a document holds: a node, a pod, or a list of either or both. Fails with `BadData`, naming `name`, when it
/// is something else.
[[nodiscard]] Result<> add_objects(ClusterState& state, const json::value& document, std::string_view name);

/// What a pod asks for: the sum of its containers, or what one that runs before them asks for, if that is more.
/// Fails with `BadData` for a quantity that is none.
[[nodiscard]] Result<Amounts> requests_of(const json::value& pod);

struct Fit {
  int wanted = 0;
  int fitting = 0;        ///< never more than wanted
  std::string sentences;  ///< for people: what fits, and what is in the way
};

[[nodiscard]] Fit check_fit(const ClusterState& state, const PodNeeds& needs, int wanted);

// Quantities as Kubernetes writes them: "8", "500m", "1.5Gi", "2e3".

/// Thousandths of a unit, rounded up; what is more than fits is the most that fits. Empty for anything that
/// Kubernetes would not read, and for what is below zero.
[[nodiscard]] std::optional<std::int64_t> parse_quantity(std::string_view text);

}  // namespace muster::render
