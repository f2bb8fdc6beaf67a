// Turns numbers of the host's devices into places among those that this node shows.
#include "compat/shown_devices.hpp"

#include "base/text.hpp"
#include "environment/accelerators.hpp"

#include <algorithm>

namespace muster {
namespace {

/// Names that are no numbers, such as GPU-5f1c, are not what another launcher's line has.
bool are_numbers(const std::vector<std::string>& names) {
  return std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
  });
}

}  // namespace

std::vector<std::string> device_numbers(int count) {
  std::vector<std::string> numbers;
  numbers.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    numbers.push_back(std::to_string(i));
  }
  return numbers;
}

std::vector<std::string> shown_devices(const Snapshot& snapshot) {
  const DeviceMask mask = find_device_mask(snapshot);
  const bool is_list = mask.is_inherited && are_numbers(mask.devices);
  return is_list ? mask.devices : device_numbers(count_visible_devices(snapshot));
}

Result<Sourced<std::string>> places_of_devices(const std::vector<std::string>& names,
                                               const Sourced<std::string>& text,
                                               const Snapshot& snapshot) {
  const DeviceMask mask = find_device_mask(snapshot);
  if (!mask.is_inherited || !are_numbers(mask.devices)) {
    return Sourced<std::string>{join(names, ","), text.source};
  }
  std::vector<std::string> places;
  for (const std::string& name : names) {
    const auto at = std::find(mask.devices.begin(), mask.devices.end(), name);
    if (at == mask.devices.end()) {
      return wrong_value(
          text,
          "devices that " + mask.variable + " shows, which are '" + join(mask.devices, ",") + "'");
    }
    places.push_back(std::to_string(at - mask.devices.begin()));
  }
  return Sourced<std::string>{join(places, ","), text.source};
}

}  // namespace muster
