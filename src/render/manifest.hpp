#pragma once

// Renders manifests: files with which a platform starts one agent of muster on each node.

#include "base/result.hpp"
#include "render/pod.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster::render {

/// Origin of the agents' common secret.
enum class TokenFrom {
  Nowhere,   ///< no secret
  Platform,  ///< the platform creates one per job
  Secret     ///< an existing Secret of Kubernetes
};

/// The input of a manifest. The texts have been checked for the kind by the readers in `pod.hpp`.
struct ManifestRequest {
  std::string kind;  ///< one of `manifest_kinds`
  std::string name;
  std::string image;  ///< empty: none, for kinds that need no image
  int nodes = 1;
  PodNeeds needs;             ///< of each node
  std::string shared_memory;  ///< size limit of /dev/shm; empty: no limit
  std::string name_space;     ///< empty: kubectl's default
  std::string queue;          ///< empty: none
  std::string scheduler;      ///< one of `gang_schedulers`; empty: none
  TokenFrom token = TokenFrom::Nowhere;
  std::string token_secret;            ///< name of the Secret, for TokenFrom::Secret
  std::optional<int> grace;            ///< seconds; muster's --grace; empty: the kind's own
  int restarts = 3;                    ///< restarts by the platform
  std::optional<int> time_limit;       ///< seconds
  std::optional<int> port;             ///< of the agents' rendezvous
  std::vector<std::string> arguments;  ///< arguments of `muster`
  bool is_expedited = false;           ///< Slurm requeues the job before all others

  std::vector<NamedText> environment{};           ///< of the agents and the workers
  std::vector<NamedText> labels{};                ///< of the job and its pods
  std::vector<Volume> volumes{};                  ///< of each pod
  std::vector<std::string> image_pull_secrets{};  ///< names of Secrets
  std::string service_account;                    ///< empty: the namespace's own
  std::string priority_class;                     ///< for Slurm a QOS; empty: the cluster's default
  std::optional<int> toleration;                  ///< seconds that pods stay on a node that is not ready or unreachable
  std::optional<int> ttl;                         ///< seconds from the job's end until the platform deletes it
  std::string patch;                              ///< merged into each pod, or put behind a script's directives
  std::string patch_name;                         ///< its file's, for messages
};

const std::vector<std::string>& manifest_kinds();

/// The kind that the word means, by its name or another one of it, such as "pytorchjob"; empty: none.
std::string kind_of(std::string_view word);

/// Schedulers with PodGroups, which start all pods of a group or none.
const std::vector<std::string>& gang_schedulers();

/// True for a kind whose platform creates a token per job.
bool brings_token(std::string_view kind);

/// True for a kind that Kubernetes accepts.
bool is_of_kubernetes(std::string_view kind);

/// True for a kind whose pods, or some of them, belong to a Job of Kubernetes.
bool is_of_jobs(std::string_view kind);

/// True for a kind that is a script for a batch system.
bool is_script(std::string_view kind);

/// True if a manifest of this kind has a place for the option, given by its name without dashes.
bool has_place(std::string_view kind, std::string_view option);

/// The last pod's name behind the job's name, such as "-worker-15", because host names are limited in length.
std::string last_suffix(std::string_view kind, int nodes);

/// Seconds from the end of muster's grace to the platform's SIGKILL.
inline constexpr int kGraceMargin = 15;

/// The grace in seconds for which the manifest leaves time: the given one, else 30.
int grace_of(const ManifestRequest& request);

/// The command that makes the Secret with the agents' token; empty: the manifest names none.
std::string token_command(const ManifestRequest& request);

/// Renders the manifest. Fails with `BadUsage` for an argument that it cannot hold, with `BadData` for a wrong patch.
[[nodiscard]] Result<std::string> render_manifest(const ManifestRequest& request);

// Fills a manifest's text line by line.

/// Replaces each {placeholder} with its value. A line with an empty value is left out, and the further lines of a
/// value are indented like the placeholder.
std::string fill_lines(std::string_view text, const std::map<std::string, std::string>& values);

// Values that single kinds of manifests add to the common ones.

/// Values by the names of the placeholders in templates/manifests.
using Values = std::map<std::string, std::string>;

/// Names that a controller asks for in its pods.
struct PodNames {
  const char* container;
  const char* port;
  const char* restart_policy;  ///< empty: the controller sets it
};

/// "A,B": the names of the variables.
std::string names_of(const std::vector<NamedText>& variables);

void add_script_values(Values& values, const ManifestRequest& request);
/// Adds the values of a pod. Fails with `BadData` if the user's patch does not fit a pod.
[[nodiscard]] Result<> add_pod_values(Values& values, const ManifestRequest& request, const PodNames& names);

/// Exit codes of muster after which a restart of the job may help: docs/interfaces.md.
const std::vector<std::string>& restart_codes();

/// The filled text of a file in templates/manifests, without its last line end.
std::string fill_file(std::string_view file, const Values& values);

// The files of templates/manifests, embedded at build time by cmake/embed_texts.cmake.

struct ManifestText {
  std::string_view name;  ///< name of the file: "slurm.sh"
  std::string_view text;
};

std::span<const ManifestText> manifest_texts();

// Quotes the user's texts for a YAML file, a shell script, a Dockerfile.

/// True for text that YAML and JSON can hold: valid UTF-8.
bool is_utf8(std::string_view text);

/// Quotes a text so that every YAML reader, old or new, returns it byte for byte; the result is a JSON string, too.
std::string quoted_text(std::string_view text);

/// Quotes an argument of a container: doubles "$", because Kubernetes replaces "$(NAME)" and reads "$$" as "$".
std::string quoted_argument(std::string_view text);

}  // namespace muster::render
