// RANK, WORLD_SIZE and lists of tasks, as another launcher meets them that reads none of them.
#include "platforms/choose_platform.hpp"
#include "platforms/leader_address.hpp"

#include "platforms/cluster.hpp"

namespace muster {

std::optional<BareSign> find_bare_sign(const Snapshot& snapshot, const Settings& settings) {
  const auto request = read_cluster_request(settings);
  const auto choice =
      request ? choose_platform(snapshot, *request, {}) : Result<Choice>(request.error());
  const bool is_bare = choice && choice->name.empty() && choice->platform != nullptr &&
                       (choice->platform == &kBare || choice->platform->is_list_of_tasks);
  if (!is_bare) {
    return std::nullopt;
  }
  const auto cluster = describe_cluster(snapshot, settings);
  const bool is_whole =
      cluster && (cluster->job.most_nodes == 1 || !is_only_own_machine(cluster->master_address));
  return BareSign{choice->source, is_whole, choice->platform->is_list_of_tasks};
}

}  // namespace muster
