// Asks each platform for its sign, the most specific one first, unless the user names one.
#include "platforms/choose_platform.hpp"

#include "platforms/tfjob.hpp"

#include "base/text.hpp"
#include "platforms/cluster.hpp"

#include <algorithm>

namespace muster {
namespace {

/// A mode that counts its roles wants task lists. Another one needs them only if they tell of other
/// nodes and nothing else does.
bool are_lists_wanted(const Snapshot& snapshot, const ClusterRequest& request, const Roles& roles) {
  const bool is_described = request.nodes || request.workers || kBare.find_sign(snapshot);
  return !roles.empty() || (!is_described && are_several_tasks(snapshot));
}

Choice detect_platform(const Snapshot& snapshot,
                       const ClusterRequest& request,
                       const Roles& roles,
                       const Platform* excluded) {
  // The variables of a worker speak about the job that it is a worker of, in numbers of processes.
  if (is_already_worker(snapshot)) {
    return {nullptr, "", {}};
  }
  for (const Platform* const platform : platforms()) {
    const auto sign = platform == excluded ? std::nullopt : platform->find_sign(snapshot);
    if (sign && (!platform->is_list_of_tasks || are_lists_wanted(snapshot, request, roles))) {
      return {platform, "", from_variable(*sign)};
    }
  }
  return {nullptr, "", {}};
}

const Platform* find_platform(std::string_view name) {
  const auto all = platforms();
  const auto at = std::find_if(
      all.begin(), all.end(), [&](const Platform* platform) { return name == platform->name; });
  return at == all.end() ? nullptr : *at;
}

}  // namespace

Result<Choice> choose_platform(const Snapshot& snapshot,
                               const ClusterRequest& request,
                               const Roles& roles) {
  const auto wanted = request.platform;
  if (!wanted) {
    return detect_platform(snapshot, request, roles, nullptr);
  }
  if (wanted->value == "flags" || wanted->value == "single") {
    return Choice{nullptr, wanted->value, wanted->source};
  }
  const bool is_excluded = wanted->value.starts_with('^');
  const Platform* const platform =
      find_platform(std::string_view(wanted->value).substr(is_excluded));
  if (platform == nullptr) {
    return wrong_value(*wanted, "one of " + join(platform_names(), ", "));
  }
  if (is_excluded) {
    return detect_platform(snapshot, request, roles, platform);
  }
  if (!platform->find_sign(snapshot)) {
    return Error{blame(wanted->source),
                 wanted->source.name + " is '" + wanted->value + "', but " + platform->signs +
                     " is not set"};
  }
  return Choice{platform, wanted->value, wanted->source};
}

const Platform* find_passed_over(const Choice& choice,
                                 const Snapshot& snapshot,
                                 const ClusterRequest& request,
                                 const Roles& roles) {
  const bool is_users =
      choice.source.kind == SourceKind::Option || choice.source.name == "--platform";
  const bool is_passed_over = choice.name == "flags" && !is_users;
  return is_passed_over ? detect_platform(snapshot, request, roles, &kBare).platform : nullptr;
}

}  // namespace muster
