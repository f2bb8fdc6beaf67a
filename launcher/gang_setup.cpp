// Who leads, where the gang meets, and what secret its links have.
#include "gang_setup.hpp"

#include "base/log.hpp"
#include "options/settings.hpp"

#include <random>

namespace muster {
namespace {

std::uint64_t random_number() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32U) | device();
}

gang::Lead choose_leader(const Cluster& cluster, const gang::GangOptions& options) {
  if (options.lead || !cluster.node.rank) {
    return options.lead.value_or(gang::Lead::IfAddressIsLocal);
  }
  return cluster.node.rank->value == 0 ? gang::Lead::Always : gang::Lead::Never;
}

/// The token that the user gives, else the secret that the platform has shared already.
Result<std::shared_ptr<const gang::GangKey>> make_key(const gang::GangOptions& options,
                                                      const Cluster& cluster) {
  std::string token = options.token;
  std::string source = "MUSTER_TOKEN";
  const bool is_platforms = options.token_file.empty() && token.empty();
  const std::string& path = is_platforms ? cluster.secret_file : options.token_file;
  if (!path.empty()) {
    source = "the token in '" + path + "'";
    auto file = gang::read_token_file(path);
    if (!file) {
      return file.error();
    }
    if (!file->warning.empty() && !is_platforms) {
      log_warning(file->warning);
    }
    token = std::move(file->token);
  } else if (token.empty()) {
    return std::shared_ptr<const gang::GangKey>();
  }
  auto key = gang::GangKey::derive(token);
  if (!key) {
    return Error{key.error().kind, source + ": " + key.error().message};
  }
  if (gang::is_weak(token)) {
    log_warning(source +
                " is easily guessed: it has few different bytes; 'muster token' prints a good one");
  }
  return std::make_shared<const gang::GangKey>(std::move(*key));
}

}  // namespace

Result<gang::GangSetup> make_gang_setup(const Cluster& cluster, const gang::GangOptions& options) {
  gang::GangSetup setup;
  setup.lead = choose_leader(cluster, options);
  const bool has_token = !options.token.empty() || !options.token_file.empty();
  if (cluster.job.most_nodes > 1 || has_token) {  // a wrong one is wrong with one node, too
    auto key = make_key(options, cluster);
    if (!key) {
      return key.error();
    }
    setup.key = std::move(*key);
  }
  gang::GangConfig& policy = setup.policy;
  policy.job = cluster.job;
  policy.node = cluster.node;
  policy.options = options;
  policy.options.token.clear();  // it is in the key
  policy.version = MUSTER_VERSION;
  policy.host = cluster.master_address;
  policy.host_from = cluster.master_address_from;
  policy.port = cluster.gang_port;
  policy.hosts = cluster.hosts;
  policy.seed = random_number();
  return setup;
}

gang::GangSetup make_lone_setup(const RunOptions& options) {
  gang::GangSetup setup;
  setup.policy.node.rank = NodeRank{0};
  setup.policy.node.host = options.host_name;
  setup.policy.node.grace = options.grace;
  return setup;
}

}  // namespace muster
