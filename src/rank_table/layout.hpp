#pragma once

// Locates instances and devices in a document of each form. Reading, checking and rewriting use one layout, so that
// they agree on which device is which.

#include "rank_table/rank_table.hpp"
#include "rank_table/read.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::rank_table {

/// Positions in the lists of a document; -1: not inside such a list.
struct Place {
  int group = -1;
  int instance = -1;
  int device = -1;
};

/// "server_list[3].device[0].device_ip"; without `field` the place itself.
std::string path_of(Form form, const Place& place, std::string_view field = {});

struct DevicePlace {
  json::object* device = nullptr;
  json::object* ranked = nullptr;  ///< object with the device's `rank_id`: the device, or its instance
  Place place;
};

struct InstancePlace {
  json::object* instance = nullptr;  ///< in `rank_list`: the host's first rank
  Place place;
  std::vector<DevicePlace> devices;
};

/// Place of a device's `rank_id`: in the device, or in its instance.
Place place_of_rank(const DevicePlace& device);

/// The instances in the order of ranks.
struct Layout {
  Form form = Form::Version1;
  std::vector<InstancePlace> instances;
};

/// Calls `function` with each device, in that order.
template <typename Function>
void for_each_device(const Layout& layout, const Function& function) {
  for (const InstancePlace& instance : layout.instances) {
    for (const DevicePlace& device : instance.devices) {
      function(device);
    }
  }
}

/// Collects breaches, up to a limit.
class Breaches {
 public:
  explicit Breaches(std::size_t most) : most_(most) {}

  void add(std::string path, const json::value* value, std::string_view expected, std::string_view code = {});
  bool is_full() const { return found_.size() >= most_; }
  std::vector<Breach>& found() { return found_; }

 private:
  std::size_t most_;
  std::vector<Breach> found_;
};

/// Detects the form by the lists in the document, then by `version`.
Form form_of(const json::object& root);

/// Finds the instances and devices. A missing list, or one with anything but objects, is a breach and is skipped.
Layout lay_out(json::object& root, Breaches& breaches);

/// `net_instance_id` of a rank's lowest network layer, in form 2.0; empty: there is none.
std::string_view lowest_network(const json::object& rank);

/// Makes the table from a document. Ids and ranks that are no numbers are breaches.
Table make_table(const json::object& root, const Layout& layout, Breaches& breaches);

void add_super_pods(const json::object& root, Table& table);

/// CANN's code for most breaches, and the text for rules without a code.
inline constexpr std::string_view kInvalidTable = "EI0004";
inline constexpr std::string_view kLogOnly = "no code, a line in its log";

// The number at the end of a pod's name.

/// 12 for "job-worker-12"; empty: the text after the last '-' is no number, as the hash in "job-0-xk5d7", or has more
/// than 18 digits.
std::optional<std::uint64_t> pod_number(std::string_view pod_name);

}  // namespace muster::rank_table
