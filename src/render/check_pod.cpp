// Refuses in a patched pod what Kubernetes would refuse. Pure.
// Source: github.com/kubernetes/kubernetes, pkg/apis/core/validation and pkg/apis/batch/validation.
#include "base/json.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "render/check_fit.hpp"
#include "render/patch.hpp"
#include "render/pod.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace muster::render {
namespace {

Error refusal(const PodPatch& patch, const std::string& what) {
  return Error{ErrorKind::BadData, patch.name + ": " + what};
}

/// The list at a path of keys; empty: it is missing.
const json::array& list_at(const json::value& from, const std::string& path) {
  static const json::array none;
  boost::system::error_code missing;
  const json::value* const found = from.find_pointer(path, missing);
  return found != nullptr && found->is_array() ? found->get_array() : none;
}

/// The map at a path of keys; empty: it is missing.
const json::object& map_at(const json::value& from, const std::string& path) {
  static const json::object none;
  boost::system::error_code missing;
  const json::value* const found = from.find_pointer(path, missing);
  return found != nullptr && found->is_object() ? found->get_object() : none;
}

/// A member as text; empty: it is missing.
std::string member_of(const json::value& item, const char* key) {
  const json::object* const object = item.if_object();
  const json::value* const found = object == nullptr ? nullptr : object->if_contains(key);
  return found == nullptr || found->is_null() ? "" : one_line(text_of_amount(found), 80);
}

/// The container's name in the patch.
std::string name_in_patch(const json::value& container, const PodPatch& patch) {
  const std::string name = member_of(container, "name");
  return "the container '" + (name == patch.container ? "muster" : name) + "'";
}

Result<> check_labels(const json::value& pod, const PodPatch& patch) {
  for (const auto& [label, value] : map_at(pod, "/metadata/labels")) {
    if (patch.is_of_jobs && is_of_controller(label)) {
      return refusal(patch, "metadata.labels has '" + one_line(std::string(label), 80) +
                                "', expected labels that no controller of Kubernetes sets itself");
    }
  }
  return {};
}

/// A pod without a policy is always restarted.
Result<> check_restart_policy(const json::value& pod, const PodPatch& patch) {
  const std::string given = member_of(pod.at("spec"), "restartPolicy");
  const std::string policy = given.empty() ? "Always" : given;
  const bool is_known = policy == "Always" || policy == "OnFailure" || policy == "Never";
  if (patch.restart_policy.empty() && !is_known) {
    return refusal(patch, "spec.restartPolicy is '" + policy + "', expected Always, OnFailure or Never");
  }
  if (patch.restart_policy.empty() || policy == patch.restart_policy) {
    return {};
  }
  return refusal(patch, "spec.restartPolicy is '" + policy + "', expected '" + patch.restart_policy +
                            "', the only one for pods of this kind of manifest");
}

/// Fails for a second port of a number that muster's container has: all containers share the pod's ports.
Result<> check_ports(const json::value& pod, const PodPatch& patch) {
  const auto port_of = [](const json::value& port) {
    const std::string protocol = member_of(port, "protocol");
    return member_of(port, "containerPort") + "/" + (protocol.empty() ? "TCP" : protocol);
  };
  const auto is_own = [&](const json::value& container) { return member_of(container, "name") == patch.container; };
  const json::array& containers = list_at(pod, "/spec/containers");
  const json::value* const muster = first_of(containers, is_own);
  std::multiset<std::string> own;
  if (muster != nullptr) {
    std::ranges::transform(list_at(*muster, "/ports"), std::inserter(own, own.end()), port_of);
  }
  for (const json::value& container : containers) {
    const std::size_t itself = is_own(container) ? 1 : 0;
    const json::value* const taken = first_of(
        list_at(container, "/ports"), [&](const json::value& port) { return own.count(port_of(port)) > itself; });
    if (taken != nullptr) {
      return refusal(patch, name_in_patch(container, patch) + " has the containerPort " +
                                member_of(*taken, "containerPort") +
                                ", expected a number that no other port of muster's container has");
    }
  }
  return {};
}

Result<> check_mounts(const json::value& container, const std::set<std::string>& volumes, const PodPatch& patch) {
  for (const json::value& mount : list_at(container, "/volumeMounts")) {
    const std::string volume = member_of(mount, "name");
    if (!volumes.contains(volume)) {
      return refusal(patch, name_in_patch(container, patch) + " mounts the volume '" + volume +
                                "', expected one of spec.volumes: " +
                                join(std::vector<std::string>(volumes.begin(), volumes.end()), ", "));
    }
  }
  return {};
}

/// An extended resource and huge pages cannot be shared: their request is their limit.
Result<> check_request(const std::string& resource, const json::value& request, const json::value* limit,
                       const PodPatch& patch) {
  const std::string text = text_of_amount(&request);
  const std::string most = limit == nullptr || limit->is_null() ? "" : text_of_amount(limit);
  const auto amount = parse_quantity(text);
  const auto most_amount = parse_quantity(most);
  if (is_extended(resource) || resource.starts_with("hugepages-")) {
    return amount == most_amount
               ? Result<>()
               : refusal(patch, "the request of " + resource + " is '" + text + "', expected " +
                                    (most.empty() ? "a limit of the same amount" : "its limit of '" + most + "'"));
  }
  if (most_amount && *most_amount < *amount) {
    return refusal(patch,
                   "the limit of " + resource + " is '" + most + "', expected at least the request of '" + text + "'");
  }
  return {};
}

/// Fails for a text that is no amount of the resource.
Result<> check_form(const std::string& resource, const json::value& value, const PodPatch& patch) {
  constexpr std::int64_t kWhole = 1'000;  // in thousandths
  const auto amount = parse_quantity(text_of_amount(&value));
  const bool is_right = amount && (!is_extended(resource) || *amount % kWhole == 0);
  return is_right || value.is_null()
             ? Result<>()
             : refusal(patch, resource + " is '" + one_line(text_of_amount(&value), 80) + "', expected " +
                                  (is_extended(resource) ? "a whole number" : "a quantity such as 16, 500m or 64Gi"));
}

Result<> check_amounts(const json::value& container, const PodPatch& patch) {
  const json::object& requests = map_at(container, "/resources/requests");
  const json::object& limits = map_at(container, "/resources/limits");
  for (const json::object* const amounts : {&requests, &limits}) {
    for (const auto& [resource, value] : *amounts) {
      TRY(check_form(std::string(resource), value, patch));
    }
  }
  for (const auto& [resource, value] : requests) {
    TRY(value.is_null() ? Result<>()
                        : check_request(std::string(resource), value, limits.if_contains(resource), patch));
  }
  return {};
}

}  // namespace

Result<> check_patched_pod(const json::value& pod, const PodPatch& patch) {
  TRY(check_labels(pod, patch));
  TRY(check_restart_policy(pod, patch));
  TRY(check_ports(pod, patch));
  std::set<std::string> volumes;
  for (const json::value& volume : list_at(pod, "/spec/volumes")) {
    volumes.insert(member_of(volume, "name"));
  }
  for (const char* const containers : {"/spec/containers", "/spec/initContainers"}) {
    for (const json::value& container : list_at(pod, containers)) {
      TRY(check_mounts(container, volumes, patch));
      TRY(check_amounts(container, patch));
    }
  }
  return {};
}

}  // namespace muster::render
