// Reads nodes and pods as kubectl prints them.
// Source: kubernetes.io, "Resource Management for Pods and Containers", "Sidecar Containers", "Pod Overhead".
#include "base/json.hpp"
#include "base/text.hpp"
#include "render/check_fit.hpp"

#include <algorithm>
#include <limits>

namespace muster::render {
namespace {

/// The value at a path of keys; nullptr if one of them is missing.
const json::value* find(const json::value& from, const std::string& path) {
  boost::system::error_code missing;
  return from.find_pointer(path, missing);
}

std::string text_at(const json::value& from, const std::string& path) {
  const json::value* const found = find(from, path);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : "";
}

/// The items of an array; empty where it is missing.
const json::array& items_at(const json::value& from, const std::string& path) {
  static const json::array none;
  const json::value* const found = find(from, path);
  return found != nullptr && found->is_array() ? found->get_array() : none;
}

void add(Amounts& amounts, const Amounts& more) {
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  for (const auto& [resource, amount] : more) {
    std::int64_t& total = amounts[resource];
    total = total > kLargest - amount ? kLargest : total + amount;
  }
}

void raise(Amounts& amounts, const Amounts& least) {
  for (const auto& [resource, amount] : least) {
    std::int64_t& total = amounts[resource];
    total = std::max(total, amount);
  }
}

Result<> read_amounts(Amounts& amounts, const json::value* found) {
  if (found == nullptr || !found->is_object()) {
    return {};
  }
  for (const auto& [resource, value] : found->get_object()) {
    const std::string text = text_of_amount(&value);
    const auto amount = parse_quantity(text);
    if (!amount) {
      return Error{ErrorKind::BadData, std::string(resource) + " is '" + one_line(text, 80) + "', expected a quantity"};
    }
    amounts[std::string(resource)] = *amount;
  }
  return {};
}

/// The requests of a container; a limit without a request counts as the request.
Result<Amounts> requests_of_container(const json::value& container) {
  Amounts amounts;
  for (const char* const path : {"/resources/limits", "/resources/requests"}) {
    TRY(read_amounts(amounts, find(container, path)));
  }
  return amounts;
}

/// Requests of the init containers, which run one after the other, and of the sidecars, which keep running beside
/// them.
struct InitContainers {
  Amounts most;      ///< the largest sum at any moment
  Amounts sidecars;  ///< the sum that remains afterwards
};

Result<InitContainers> read_init_containers(const json::value& pod) {
  InitContainers init;
  for (const json::value& container : items_at(pod, "/spec/initContainers")) {
    auto amounts = TRY(requests_of_container(container));
    if (text_at(container, "/restartPolicy") == "Always") {
      add(init.sidecars, amounts);
      raise(init.most, init.sidecars);
    } else {
      add(amounts, init.sidecars);
      raise(init.most, amounts);
    }
  }
  return init;
}

bool is_ready(const json::value& node) {
  const auto& conditions = items_at(node, "/status/conditions");
  return std::ranges::any_of(conditions, [](const json::value& condition) {
    return text_at(condition, "/type") == "Ready" && text_at(condition, "/status") == "True";
  });
}

Result<> add_node(ClusterState& state, const json::value& document) {
  Node node;
  node.name = text_at(document, "/metadata/name");
  if (!state.seen.insert("node " + node.name).second) {
    return {};
  }
  node.is_ready = is_ready(document);
  const json::value* const unschedulable = find(document, "/spec/unschedulable");
  node.is_unschedulable = unschedulable != nullptr && unschedulable->is_bool() && unschedulable->get_bool();
  for (const json::value& taint : items_at(document, "/spec/taints")) {
    node.taints.push_back({text_at(taint, "/key"), text_at(taint, "/value"), text_at(taint, "/effect")});
  }
  const json::value* const labels = find(document, "/metadata/labels");
  if (labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->get_object()) {
      node.labels[std::string(key)] = value.is_string() ? std::string(value.get_string()) : "";
    }
  }
  auto read = read_amounts(node.allocatable, find(document, "/status/allocatable"));
  if (!read) {
    return Error{ErrorKind::BadData, "of the node '" + node.name + "' " + read.error().message};
  }
  state.nodes.push_back(std::move(node));
  return {};
}

Result<> add_pod(ClusterState& state, const json::value& document) {
  state.has_pods = true;
  const std::string name = text_at(document, "/metadata/namespace") + "/" + text_at(document, "/metadata/name");
  const std::string phase = text_at(document, "/status/phase");
  if (phase == "Succeeded" || phase == "Failed" || !state.seen.insert("pod " + name).second) {
    return {};
  }
  auto amounts = requests_of(document);
  if (!amounts) {
    return Error{ErrorKind::BadData, "of the pod '" + name + "' " + amounts.error().message};
  }
  const std::string node = text_at(document, "/spec/nodeName");
  if (node.empty()) {
    state.waiting.push_back(std::move(*amounts));
    return {};
  }
  PodUse& taken = state.taken[node];
  ++taken.pods;
  add(taken.amounts, *amounts);
  return {};
}

Result<> add_object(ClusterState& state, const json::value& document, const std::string& kind) {
  if (kind == "Node") {
    return add_node(state, document);
  }
  if (kind == "Pod") {
    return add_pod(state, document);
  }
  return Error{ErrorKind::BadData,
               "it holds something of the kind '" + one_line(kind, 80) + "', expected nodes and pods"};
}

Result<> add_all(ClusterState& state, const json::value& document) {
  const std::string kind = text_at(document, "/kind");
  if (!kind.ends_with("List")) {
    return add_object(state, document, kind);
  }
  // The items of a NodeList need not name their kind.
  const std::string kind_of_items = kind.substr(0, kind.size() - std::string("List").size());
  for (const json::value& item : items_at(document, "/items")) {
    const std::string own = text_at(item, "/kind");
    TRY(add_object(state, item, own.empty() ? kind_of_items : own));
  }
  return {};
}

}  // namespace

std::string text_of_amount(const json::value* amount) {
  const bool is_text = amount != nullptr && amount->is_string();
  return is_text ? std::string(amount->get_string()) : amount != nullptr ? json::serialize(*amount) : "";
}

Result<Amounts> requests_of(const json::value& pod) {
  Amounts amounts;
  const json::value* const spec = find(pod, "/spec");
  if (spec == nullptr) {
    return amounts;
  }
  for (const json::value& container : items_at(pod, "/spec/containers")) {
    const auto requests = TRY(requests_of_container(container));
    add(amounts, requests);
  }
  const auto init = TRY(read_init_containers(pod));
  add(amounts, init.sidecars);
  raise(amounts, init.most);
  // Pod-level requests override the sums of the containers.
  const auto whole = requests_of_container(*spec);
  Amounts overhead;
  TRY(read_amounts(overhead, find(pod, "/spec/overhead")));
  for (const auto& [resource, amount] : TRY(whole)) {
    amounts[resource] = amount;
  }
  add(amounts, overhead);
  return amounts;
}

Result<> add_objects(ClusterState& state, const json::value& document, std::string_view name) {
  auto added = add_all(state, document);
  return added ? added : Error{ErrorKind::BadData, std::string(name) + ": " + added.error().message};
}

}  // namespace muster::render
