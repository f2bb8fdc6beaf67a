#pragma once

// Manifests: what a platform is given so that it starts one agent of muster on each node.

#include "base/result.hpp"
#include "render/pod.hpp"

#include <map>
#include <optional>
#include <span>
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

// Fills a manifest's text, line by line.

/// Each {placeholder} is replaced by its value. A line that needs a value which is empty is left out, and the
/// further lines of a value are indented as the placeholder is.
[[nodiscard]] std::string fill_lines(std::string_view text, const std::map<std::string, std::string>& values);

// What each kind of manifest adds to the values that all have.

/// By the names of the placeholders in templates/manifests.
using Values = std::map<std::string, std::string>;

void add_slurm_values(Values& values, const ManifestRequest& request);
void add_pod_values(Values& values, const ManifestRequest& request);

/// The codes of muster after which starting the job again may help: docs/interfaces.md.
[[nodiscard]] const std::vector<std::string>& restart_codes();

/// The text of that file in templates/manifests, filled.
[[nodiscard]] std::string fill_file(std::string_view file, const Values& values);

// The files of templates/manifests, made into C++ at build time by cmake/embed_texts.cmake.

struct ManifestText {
  std::string_view name;  ///< of the file: "slurm.sh"
  std::string_view text;
};

[[nodiscard]] std::span<const ManifestText> manifest_texts();

// Texts of the user's inside a YAML file, a shell script, a Dockerfile.

/// True for text that YAML and JSON can hold: valid UTF-8.
[[nodiscard]] bool is_utf8(std::string_view text);

/// In double quotes, as every reader of YAML, old and new, takes it back byte for byte. It is a string of JSON, too.
[[nodiscard]] std::string quoted_text(std::string_view text);

/// The same for an argument of a container: Kubernetes would replace "$(NAME)", and takes "$$" for one "$".
[[nodiscard]] std::string quoted_argument(std::string_view text);

}  // namespace muster::render
