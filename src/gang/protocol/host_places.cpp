// Counts hosts by their names.
#include "gang/protocol/host_places.hpp"

#include <map>

namespace muster::gang {

std::vector<HostPlace> find_host_places(const std::vector<std::string>& names) {
  std::map<std::string, HostPlace> hosts;
  for (const std::string& name : names) {
    const auto [at, is_new] = hosts.try_emplace(name);
    if (is_new) {
      at->second.rank = static_cast<int>(hosts.size()) - 1;
    }
    ++at->second.tasks;
  }
  std::vector<HostPlace> places;
  places.reserve(names.size());
  for (const std::string& name : names) {
    places.push_back(hosts.at(name));
    places.back().hosts = static_cast<int>(hosts.size());
  }
  return places;
}

}  // namespace muster::gang
