#pragma once

// Manifests: what a platform is given so that it starts one agent of muster on each node.

#include "base/result.hpp"
#include "base/source.hpp"
#include "render/pods.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::render {

/// Where the agents of a job have their common secret from.
enum class TokenFrom {
  Nowhere,   ///< they have none
  Platform,  ///< it makes one for each job
  Secret     ///< of Kubernetes, which somebody has made
};

/// What a manifest is made of. All texts have been checked for the kind: see `names.hpp`.
struct ManifestRequest {
  std::string kind;  ///< one of `manifest_kinds`
  std::string name;
  std::string image;  ///< empty: none, where the kind needs none
  int nodes = 1;
  PodNeeds needs;             ///< of each node
  std::string shared_memory;  ///< most bytes of /dev/shm; empty: as many as there are
  std::string name_space;     ///< empty: whatever `kubectl` uses
  std::string queue;          ///< empty: none
  std::string scheduler;      ///< one of `gang_schedulers`; empty: none
  TokenFrom token = TokenFrom::Nowhere;
  std::string token_secret;            ///< its name, if the token is from one
  int grace = 30;                      ///< seconds, of muster
  int restarts = 3;                    ///< by the platform
  std::optional<int> time_limit;       ///< seconds
  std::optional<int> port;             ///< where the agents meet
  std::vector<std::string> arguments;  ///< what stands behind `muster`
  bool is_expedited = false;           ///< Slurm queues it again before all others
};

[[nodiscard]] const std::vector<std::string>& manifest_kinds();

/// Schedulers that start all pods of a group or none, and are asked for by a PodGroup.
[[nodiscard]] const std::vector<std::string>& gang_schedulers();

/// True for a kind whose platform makes a token for each job.
[[nodiscard]] bool brings_token(std::string_view kind);

/// True for a kind that a cluster of Kubernetes is given.
[[nodiscard]] bool is_of_kubernetes(std::string_view kind);

/// What the name of the last pod has behind that of the job, such as "-worker-15": names of hosts are limited.
[[nodiscard]] std::string last_suffix(std::string_view kind, int nodes);

/// Seconds that the platform leaves beyond the grace of muster before it kills.
inline constexpr int kGraceMargin = 15;

/// The manifest. Fails with `BadUsage` for an argument that it cannot hold.
[[nodiscard]] Result<std::string> render_manifest(const ManifestRequest& request);

}  // namespace muster::render
