// Merges the user's patch into a pod, as YAML. Pure.
#include "render/patch.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace muster::render {
namespace {

/// The text by which an item of a list is told from the others: a volume may be mounted at several paths, and a
/// toleration has the key of its taint. Empty: none.
std::string key_of(const json::value& item) {
  const json::object* const object = item.if_object();
  for (const char* const key : {"mountPath", "name", "key"}) {
    const json::value* const found = object == nullptr ? nullptr : object->if_contains(key);
    if (found != nullptr && found->is_string()) {
      return std::string(found->get_string());
    }
  }
  return "";
}

bool have_keys(const json::array& list) {
  return std::ranges::all_of(list, [](const json::value& item) { return !key_of(item).empty(); });
}

/// A value, and the value that is merged into it.
using Merge = std::pair<json::value*, const json::value*>;

/// Merges the members, and adds those that both have to the work. A variable has either a value or a source of it.
void merge_objects(json::object& into, const json::object& from, std::vector<Merge>& work) {
  if (from.contains("value")) {
    into.stable_erase("valueFrom");
  }
  if (from.contains("valueFrom")) {
    into.stable_erase("value");
  }
  for (const auto& [key, value] : from) {
    if (value.is_null()) {
      into.stable_erase(key);
    } else if (!into.contains(key)) {
      into[key] = value;
    }
  }
  for (const auto& [key, value] : from) {
    if (json::value* const ours = into.if_contains(key)) {
      work.emplace_back(ours, &value);
    }
  }
}

/// Merges the items by their names, and adds those that both have to the work.
void merge_lists(json::array& into, const json::array& from, std::vector<Merge>& work) {
  const auto place_of = [&](const json::value& item) {
    return std::ranges::find_if(into, [&](const json::value& ours) { return key_of(ours) == key_of(item); });
  };
  for (const json::value& item : from) {
    if (place_of(item) == into.end()) {
      into.push_back(item);
    }
  }
  for (const json::value& item : from) {
    work.emplace_back(&*place_of(item), &item);
  }
}

void merge(json::value& root, const json::value& patch) {
  std::vector<Merge> work = {{&root, &patch}};
  while (!work.empty()) {
    const auto [into, from] = work.back();
    work.pop_back();
    if (into->is_object() && from->is_object()) {
      merge_objects(into->get_object(), from->get_object(), work);
    } else if (into->is_array() && from->is_array() && have_keys(into->get_array()) && have_keys(from->get_array())) {
      merge_lists(into->get_array(), from->get_array(), work);
    } else {
      *into = *from;
    }
  }
}

/// Fails unless the root has a pod's metadata, its spec, or both.
Result<> check_root(const json::value& root, const std::string& name) {
  const auto bad = [&](const std::string& what) {
    return Error{ErrorKind::BadData, name + ": " + what + ", expected 'metadata' or 'spec' of a pod at its root"};
  };
  if (!root.is_object() || root.get_object().empty()) {
    return bad("it holds no map");
  }
  for (const auto& [key, value] : root.get_object()) {
    if (key != "metadata" && key != "spec") {
      return bad("it has '" + one_line(std::string(key), 80) + "'");
    }
    if (!value.is_object()) {
      return bad("its '" + std::string(key) + "' is no map");
    }
  }
  const json::object* const spec = root.get_object().contains("spec") ? root.at("spec").if_object() : nullptr;
  if (spec != nullptr && spec->contains("template")) {  // the level above, of a Deployment or a Job
    return bad("its 'spec' has a 'template'");
  }
  return {};
}

/// Fails for a container that the patch has added without an image: its name was meant for another one.
Result<> check_containers(const json::value& pod, const std::string& name) {
  boost::system::error_code missing;
  const json::value* const list = pod.find_pointer("/spec/containers", missing);
  for (const json::value& one : list != nullptr && list->is_array() ? list->get_array() : json::array()) {
    if (!one.is_object() || !one.get_object().contains("image")) {
      return Error{ErrorKind::BadData, name + ": the container '" + one_line(key_of(one), 80) +
                                           "' has no image; the one of the job is named 'muster' in a patch"};
    }
  }
  return {};
}

void rename_container(json::value& root, const std::string& container) {
  boost::system::error_code missing;
  json::value* const list = root.find_pointer("/spec/containers", missing);
  if (list == nullptr || !list->is_array()) {
    return;
  }
  for (json::value& one : list->get_array()) {
    if (one.is_object() && key_of(one) == "muster") {
      one.get_object()["name"] = container;
    }
  }
}

}  // namespace

Result<std::string> patched_pod(std::string_view pod, std::string_view patch, const std::string& patch_name,
                                const std::string& container) {
  auto whole = TRY(parse_yaml(pod, "pod", Scalars::Typed));
  auto changes = TRY(parse_yaml(patch, patch_name, Scalars::Typed));
  TRY(check_root(changes.root, patch_name));
  rename_container(changes.root, container);
  merge(whole.root, changes.root);
  TRY(check_containers(whole.root, patch_name));
  return std::string(trim(to_yaml(whole.root)));
}

}  // namespace muster::render
