// Merges the user's patch into a pod, as YAML. Pure.
#include "render/patch.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "render/check_fit.hpp"

#include <algorithm>
#include <array>

namespace muster::render {
namespace {

/// The text by which an item of a list is told from the others: a volume may be mounted at several paths, and "/a/" is
/// "/a". Empty: none.
std::string key_of(const json::value& item) {
  const json::object* const object = item.if_object();
  for (const char* const key : {"mountPath", "name"}) {
    const json::value* const found = object == nullptr ? nullptr : object->if_contains(key);
    if (found != nullptr && found->is_string()) {
      const std::string_view text = found->get_string();
      return std::string(text.substr(0, std::max<std::size_t>(text.find_last_not_of('/') + 1, 1)));
    }
  }
  return "";
}

bool have_keys(const json::array& list) {
  return std::ranges::all_of(list, [](const json::value& item) { return !key_of(item).empty(); });
}

/// Two values to merge, and their key. For items of a list it is the list's key.
struct Merge {
  json::value* into;
  const json::value* from;
  std::string_view key;
};

/// True if Kubernetes takes only one source here, such as `value` or `valueFrom`, and the patch names another one.
bool has_other_source(const json::object& into, const json::object& from, std::string_view key) {
  constexpr std::array<std::string_view, 3> kOfOneSource = {"env", "valueFrom", "volumes"};
  return contains(kOfOneSource, key) && std::ranges::any_of(from, [&](const auto& member) {
           return !member.value().is_null() && !into.contains(member.key());
         });
}

/// Merges the members of two objects. Pairs to merge in turn are added to `work`.
void merge_objects(json::object& into, const json::object& from, std::string_view of, std::vector<Merge>& work) {
  if (has_other_source(into, from, of)) {
    into.clear();
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
      work.push_back({ours, &value, key});
    }
  }
}

constexpr std::string_view kTolerations = "tolerations";

/// Merges items of the same name, and tolerations that are equal. Pairs to merge in turn are added to `work`.
void merge_lists(json::array& into, const json::array& from, std::string_view of, std::vector<Merge>& work) {
  const auto place_of = [&](const json::value& item) {
    return std::ranges::find_if(into, [&](const json::value& ours) {
      return of == kTolerations ? ours == item : key_of(ours) == key_of(item);
    });
  };
  for (const json::value& item : from) {
    if (place_of(item) == into.end()) {
      into.push_back(item);
    }
  }
  for (const json::value& item : from) {
    work.push_back({&*place_of(item), &item, of});
  }
}

void merge(json::value& root, const json::value& patch) {
  std::vector<Merge> work = {{&root, &patch, ""}};
  while (!work.empty()) {
    const auto [into, from, key] = work.back();
    work.pop_back();
    if (into->is_object() && from->is_object()) {
      merge_objects(into->get_object(), from->get_object(), key, work);
    } else if (into->is_array() && from->is_array() &&
               (key == kTolerations || (have_keys(into->get_array()) && have_keys(from->get_array())))) {
      merge_lists(into->get_array(), from->get_array(), key, work);
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
  const json::value* const list = spec != nullptr ? spec->if_contains("containers") : nullptr;
  if (list != nullptr && (!list->is_array() || !have_keys(list->get_array()))) {
    return Error{ErrorKind::BadData, name + ": its 'spec.containers' is '" + one_line(json::serialize(*list), 80) +
                                         "', expected a list of containers, each with a name"};
  }
  return {};
}

/// The pod's list of containers; null: it has none.
json::array* containers_of(json::value& pod) {
  boost::system::error_code missing;
  json::value* const list = pod.find_pointer("/spec/containers", missing);
  return list == nullptr ? nullptr : list->if_array();
}

/// Fails if the patch adds a container without an image: probably it names a container wrongly.
Result<> check_containers(json::value& pod, const std::string& name) {
  const json::array* const list = containers_of(pod);
  for (const json::value& one : list != nullptr ? *list : json::array()) {
    if (!one.is_object() || !one.get_object().contains("image")) {
      return Error{ErrorKind::BadData, name + ": the container '" + one_line(key_of(one), 80) +
                                           "' has no image; the one of the job is named 'muster' in a patch"};
    }
  }
  return {};
}

void rename_container(json::value& root, const std::string& container) {
  json::array* const list = containers_of(root);
  for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
    if (key_of((*list)[i]) == "muster") {
      (*list)[i].get_object()["name"] = container;
    }
  }
}

/// The "requests" or "limits" of the container; null: it has none.
json::object* amounts_of(json::value& pod, const std::string& container, const std::string& which) {
  json::array* const list = containers_of(pod);
  if (list == nullptr) {
    return nullptr;
  }
  const auto one = std::ranges::find(*list, container, key_of);
  boost::system::error_code missing;
  json::value* const found = one == list->end() ? nullptr : one->find_pointer("/resources/" + which, missing);
  return found == nullptr ? nullptr : found->if_object();
}

/// Removes default requests of resources that the patch limits: Kubernetes then requests as much as the limit.
void drop_limited(json::value& pod, json::value& patch, const std::string& container,
                  const std::vector<std::string>& defaults) {
  json::object* const requests = amounts_of(pod, container, "requests");
  const json::object* const limits = amounts_of(patch, container, "limits");
  if (requests == nullptr || limits == nullptr) {
    return;
  }
  for (const std::string& one : defaults) {
    const json::value* const limit = limits->if_contains(one);
    if (limit != nullptr && !limit->is_null()) {
      requests->stable_erase(one);
    }
  }
}

/// Removes the extended resources, because the launcher's pod has no device.
void drop_extended(json::value& patch, const std::string& container) {
  for (const char* const which : {"requests", "limits"}) {
    json::object* const amounts = amounts_of(patch, container, which);
    for (const auto& [resource, amount] : amounts != nullptr ? json::object(*amounts) : json::object()) {
      if (is_extended(resource)) {
        amounts->stable_erase(resource);
      }
    }
  }
}

/// Fails if the patch sets another number of devices than --devices, which also decides the number of workers.
Result<> check_devices(json::value& changes, const PodPatch& patch) {
  for (const char* const which : {"requests", "limits"}) {
    const json::object* const amounts = amounts_of(changes, patch.container, which);
    const json::value* const amount = amounts == nullptr ? nullptr : amounts->if_contains(patch.device_resource);
    const std::string text = text_of_amount(amount);
    if (amount != nullptr && !amount->is_null() && text != std::to_string(patch.devices)) {
      return Error{ErrorKind::BadData, patch.name + ": " + patch.device_resource + " is '" + one_line(text, 80) +
                                           "', expected the '" + std::to_string(patch.devices) +
                                           "' of --devices, which also counts the workers; give --devices instead"};
    }
  }
  return {};
}

/// Fails for a directive of kubectl's patches, such as "$patch": it would become a field of the pod.
Result<> check_keys(const YamlDocument& changes, const std::string& name) {
  for (const auto& [path, line] : changes.lines) {
    const std::string key = path.substr(path.rfind('/') + 1);
    if (key.starts_with('$')) {
      return Error{ErrorKind::BadData, name + ":" + std::to_string(line) + ": it has '" + one_line(key, 80) +
                                           "', expected fields of a pod alone; null takes a key away"};
    }
  }
  return {};
}

/// Gives the numbers and truth values of a map or a list their text.
void take_texts(json::value& typed, const json::value& texts, const std::string& path) {
  boost::system::error_code missing;
  json::value* const into = typed.find_pointer(path, missing);
  const json::value* const from = texts.find_pointer(path, missing);
  const auto is_wrong = [](const json::value& value) { return value.is_bool() || value.is_number(); };
  if (into != nullptr && into->is_object()) {
    for (auto& [key, value] : into->get_object()) {
      if (is_wrong(value)) {
        value = from->at(key);
      }
    }
  }
  if (into != nullptr && into->is_array()) {
    for (std::size_t i = 0; i < into->get_array().size(); ++i) {
      if (is_wrong(into->at(i))) {
        into->at(i) = from->at(i);
      }
    }
  }
}

/// Quotes what Kubernetes takes as text alone, such as the value of a variable. `texts`: the patch without types.
void quote_texts(json::value& changes, const json::value& texts) {
  for (const char* const path : {"/metadata/labels", "/metadata/annotations", "/spec/nodeSelector"}) {
    take_texts(changes, texts, path);
  }
  const auto size_at = [&](const std::string& path) {
    boost::system::error_code missing;
    const json::value* const list = changes.find_pointer(path, missing);
    return list != nullptr && list->is_array() ? list->get_array().size() : 0;
  };
  for (const std::string list : {"/spec/containers/", "/spec/initContainers/"}) {
    for (std::size_t i = 0; i < size_at(list.substr(0, list.size() - 1)); ++i) {
      const std::string container = list + std::to_string(i);
      take_texts(changes, texts, container + "/command");
      take_texts(changes, texts, container + "/args");
      for (std::size_t j = 0; j < size_at(container + "/env"); ++j) {
        take_texts(changes, texts, container + "/env/" + std::to_string(j));
      }
    }
  }
}

}  // namespace

Result<std::string> patched_pod(std::string_view pod, const PodPatch& patch) {
  auto whole = TRY(parse_yaml(pod, "pod", Scalars::Typed));
  auto changes = TRY(parse_yaml(patch.text, patch.name, Scalars::Typed));
  TRY(check_root(changes.root, patch.name));
  TRY(check_keys(changes, patch.name));
  quote_texts(changes.root, TRY(parse_yaml(patch.text, patch.name)).root);
  rename_container(changes.root, patch.container);
  if (patch.device_resource.empty()) {
    drop_extended(changes.root, patch.container);
  } else {
    TRY(check_devices(changes.root, patch));
  }
  drop_limited(whole.root, changes.root, patch.container, patch.defaults);
  merge(whole.root, changes.root);
  TRY(check_containers(whole.root, patch.name));
  TRY(check_patched_pod(whole.root, patch));
  return std::string(trim(to_yaml(whole.root)));
}

std::optional<std::int64_t> grace_in_patch(std::string_view patch) {
  const auto changes = parse_yaml(patch, "patch", Scalars::Typed);
  boost::system::error_code missing;
  const json::value* const grace =
      changes ? changes->root.find_pointer("/spec/terminationGracePeriodSeconds", missing) : nullptr;
  return grace != nullptr && grace->is_int64() ? std::optional(grace->get_int64()) : std::nullopt;
}

}  // namespace muster::render
