#pragma once

// Checks whether a whole gang fits into a Kubernetes cluster before it is submitted. Pure: reads JSON as kubectl
// prints it.

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

/// Amounts by resource, in thousandths: cpu, memory in bytes, nvidia.com/gpu ...
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

/// The pods on a node and the amounts that they request.
struct PodUse {
  std::int64_t pods = 0;
  Amounts amounts;
};

struct ClusterState {
  std::vector<Node> nodes;
  std::map<std::string, PodUse, std::less<>> taken;  ///< by node name
  std::vector<Amounts> waiting;                      ///< one per pod without a node
  std::set<std::string> seen;                        ///< nodes and pods already counted
  bool has_pods = false;
};

/// Adds a node, a pod, or a list of either or both. Fails with `BadData`, naming `name`, for any other document.
[[nodiscard]] Result<> add_objects(ClusterState& state, const json::value& document, std::string_view name);

/// A quantity as it is written, as text or as a number; empty: it is missing.
std::string text_of_amount(const json::value* amount);

/// The requests of a pod: the sum of its containers, or those of a larger init container. Fails with `BadData` for an
/// invalid quantity.
[[nodiscard]] Result<Amounts> requests_of(const json::value& pod);

struct Fit {
  int wanted = 0;
  int fitting = 0;        ///< at most `wanted`
  std::string sentences;  ///< for people: how many fit, and the obstacles
};

Fit check_fit(const ClusterState& state, const PodNeeds& needs, int wanted);

// Quantities as Kubernetes writes them: "8", "500m", "1.5Gi", "2e3".

/// Thousandths of a unit, rounded up; clamped to the largest value. Empty for text that Kubernetes would not accept,
/// and for negative quantities.
std::optional<std::int64_t> parse_quantity(std::string_view text);

}  // namespace muster::render
