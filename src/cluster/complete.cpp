// Fills in what nobody said and nobody needs to say, and asks for the rest.
#include "complete.hpp"

#include "slots.hpp"

#include <muster/base/endpoint.hpp>

namespace muster {
namespace {

Error missing(const std::optional<Sourced<std::string>>& known,
              std::string_view what,
              const std::string& flag) {
  const std::string because = known ? known->source.name + " is '" + known->value + "', but " : "";
  return Error{known ? blame(known->source) : ErrorKind::BadEnvironment,
               because + "nothing says " + std::string(what) + "; give " + flag};
}

std::optional<Sourced<std::string>> as_text(const std::optional<Sourced<int>>& number) {
  return number ? std::optional(Sourced<std::string>{std::to_string(number->value), number->source})
                : std::nullopt;
}

/// Checks count and rank against each other. Where a user or torchrun's variables describe the job
/// ranks may go by arrival; a platform that gives ranks and gives none to this node is broken.
Result<> check_rank(const Findings& findings, const Platform* platform, const OptionNames& names) {
  const bool may_lack_rank = platform == nullptr || platform->may_lack_rank;
  if (!findings.node_rank && findings.no_rank) {
    return *findings.no_rank;
  }
  if (!findings.node_rank && !may_lack_rank) {
    return missing(nodes_as_written(findings), "which of the nodes this is", names.node_rank);
  }
  if (findings.node_rank && findings.node_rank->value >= findings.nodes->value) {
    return contradiction(
        *as_text(findings.node_rank), nodes_as_written(findings), "a rank must be below its count");
  }
  return {};
}

/// Why nobody knows how many nodes the job has.
Error without_nodes(const Findings& findings, const OptionNames& names) {
  if (!findings.node_rank && findings.no_rank) {
    return *findings.no_rank;
  }
  if (!findings.no_nodes) {
    return missing(as_text(findings.node_rank), "how many nodes the job has", names.nodes);
  }
  Error error = *findings.no_nodes;
  if (!findings.start_by.empty()) {
    error.message += "; start one on each by: " + findings.start_by + " " + names.command;
  }
  return error;
}

/// Where the agents meet: one node needs nobody's word for it.
Result<> complete_leader(Findings& findings, const OptionNames& names) {
  const bool is_single = findings.nodes->value == 1;
  // A port of our own needs no name that others know, nor one that must resolve first.
  const bool is_own_port = is_single && !findings.master_port;
  if (is_single &&
      (!findings.master_address || (is_own_port && !is_given(findings.master_address->source)))) {
    findings.master_address = {"127.0.0.1", {}};
  }
  if (!findings.master_address && findings.no_leader) {
    return *findings.no_leader;
  }
  if (!findings.master_address) {
    return missing(nodes_as_written(findings), "where the leader is", names.master_address);
  }
  if (!findings.master_port && !is_single) {
    findings.master_port = {kUsualPort, {}};
  }
  return {};
}

}  // namespace

Result<> complete(Findings& findings,
                  const JobRoles& roles,
                  const Platform* platform,
                  const OptionNames& names) {
  if (!findings.nodes && !findings.node_rank && platform == nullptr) {
    findings.nodes = {1, {}};
  }
  if (!findings.nodes) {
    return without_nodes(findings, names);
  }
  const bool is_single = findings.nodes->value == 1;
  if (!findings.node_rank && is_single && !findings.no_rank) {
    findings.node_rank = {0, findings.nodes->source};
  }
  if (auto checked = check_rank(findings, platform, names); !checked) {
    return checked;
  }
  if (auto found = complete_leader(findings, names); !found) {
    return found;
  }
  avoid_listeners(findings, roles);
  return {};
}

}  // namespace muster
