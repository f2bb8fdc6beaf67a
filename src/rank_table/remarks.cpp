// What HCCL would not take as it is written, but need not be mended by hand.
#include "rank_table/check.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace muster::rank_table {
namespace {

bool is_blank_or_control(char letter) {
  const auto code = static_cast<unsigned char>(letter);
  return code <= ' ' || code == 0x7F;
}

class Notices {
 public:
  Notices(const json::object& root, const Layout& layout) : root_(root), layout_(layout) {}

  std::vector<Breach> find() {
    want_plain_servers();
    if (layout_.form == Form::Version2) {
      find_in_ranks();
    } else if (layout_.form == Form::Version1 || layout_.form == Form::SuperPods) {
      find_in_servers();
    }
    return std::move(found_.found());
  }

 private:
  void want(const json::object& object, std::string_view key, std::string_view expected) {
    if (!object.contains(key)) {
      found_.add(std::string(key), nullptr, expected, kInvalidTable);
    }
  }

  void want_text(const json::object& object, std::string_view key, const std::string& path) {
    const json::value* value = object.if_contains(key);
    if (value != nullptr && value->is_number()) {
      found_.add(path, value, "it as text", kInvalidTable);
    }
  }

  /// Whoever wrote one of them in the other way wrote all so: the first is named, and how many there are.
  void want_of_devices(std::string_view key, bool as_text) {
    const DevicePlace* first = nullptr;
    std::size_t count = 0;
    for_each_device(layout_, [&](const DevicePlace& device) {
      const json::value* value = device.device->if_contains(key);
      if (value != nullptr && (as_text ? value->is_number() : value->is_string())) {
        first = first == nullptr ? &device : first;
        count += 1;
      }
    });
    if (first != nullptr) {
      found_.add(path_of(layout_.form, first->place, key),
                 first->device->if_contains(key),
                 std::string("it as ") + (as_text ? "text" : "a number") +
                     (count > 1 ? ", here and in " + std::to_string(count - 1) + " more" : ""),
                 kInvalidTable);
    }
  }

  /// The first one; HCCL takes it, and it is no other server's by the way.
  void want_plain_servers() {
    for (const InstancePlace& instance : layout_.instances) {
      const std::string_view id = server_of(instance);
      if (std::any_of(id.begin(), id.end(), is_blank_or_control)) {
        found_.add(
            path_of(layout_.form, instance.place, "server_id"),
            instance.instance->if_contains("server_id"),
            "a name without blanks and control characters, as it is compared letter by letter");
        return;
      }
    }
  }

  void find_in_servers() {
    want(root_, "status", "\"completed\"");
    want(root_, "version", layout_.form == Form::SuperPods ? "\"1.2\"" : "\"1.0\"");
    if (layout_.form == Form::SuperPods && text_of(root_, "version") == "1.0") {
      found_.add("version",
                 root_.if_contains("version"),
                 "\"1.2\", as there is a super_pod_list",
                 kInvalidTable);
    }
    want(root_, "server_count", "how many servers are listed");
    want_text(root_, "version", "version");
    want_text(root_, "server_count", "server_count");
    for (const std::string_view key : kDeviceTexts) {
      want_of_devices(key, true);
    }
    want_text_of_super_pods();
    compare_super_pods();
  }

  /// The first that has a number for a name.
  void want_text_of_super_pods() {
    const json::array* pods = array_of(root_, "super_pod_list");
    for (std::size_t i = 0; pods != nullptr && i < pods->size(); ++i) {
      const json::object* pod = (*pods)[i].if_object();
      if (pod != nullptr && plain_text(*pod, "super_pod_id") != text_of(*pod, "super_pod_id")) {
        want_text(*pod, "super_pod_id", "super_pod_list[" + std::to_string(i) + "].super_pod_id");
        return;
      }
    }
  }

  /// Super pods of different sizes are for newer versions of HCCL.
  void compare_super_pods() {
    std::set<std::size_t> sizes;
    for_each_object(array_of(root_, "super_pod_list"), [&sizes](const json::object& pod) {
      const json::array* servers = array_of(pod, "server_list");
      sizes.insert(servers == nullptr ? 0 : servers->size());
    });
    if (sizes.size() > 1) {
      found_.add("super_pod_list",
                 root_.if_contains("super_pod_list"),
                 "as many servers in each super pod, for older versions of HCCL",
                 "EI0004");
    }
  }

  /// Ranks of one host have different devices.
  void compare_devices() {
    std::set<std::pair<std::string_view, int>> seen;
    for_each_device(layout_, [this, &seen](const DevicePlace& rank) {
      const std::string_view network = lowest_network(*rank.device);
      const json::value* value = rank.device->if_contains("device_id");
      const int id = number_of(value).value_or(-1);
      if (!network.empty() && id >= 0 && !seen.emplace(network, id).second) {
        found_.add(path_of(layout_.form, rank.place, "device_id"),
                   value,
                   "a device that no other rank of the same net_instance_id has");
      }
    });
  }

  /// The first rank without one, and how many more there are.
  void want_levels() {
    const DevicePlace* first = nullptr;
    std::size_t count = 0;
    for_each_device(layout_, [&](const DevicePlace& rank) {
      if (!rank.device->contains("level_list")) {
        first = first == nullptr ? &rank : first;
        count += 1;
      }
    });
    if (first != nullptr) {
      found_.add(path_of(layout_.form, first->place, "level_list"),
                 nullptr,
                 "the layers of its network" +
                     (count > 1 ? ", here and in " + std::to_string(count - 1) + " more" : ""));
    }
  }

  void find_in_ranks() {
    want(root_, "status", "\"completed\"");
    want(root_, "version", "\"2.0\"");
    want(root_, "rank_count", "how many ranks are listed");
    if (const json::value* count = root_.if_contains("rank_count");
        count != nullptr && count->is_string()) {
      found_.add("rank_count", count, "it as a number", kInvalidTable);
    }
    want_levels();
    compare_devices();
    for (const std::string_view key : {"rank_id", "device_id", "local_id"}) {
      want_of_devices(key, false);
    }
  }

  const json::object& root_;
  const Layout& layout_;
  Breaches found_{20};
};

}  // namespace

std::vector<Breach> find_remarks(const json::object& root, const Layout& layout) {
  return Notices(root, layout).find();
}

}  // namespace muster::rank_table
