// Fills in what nobody said and nobody needs to say, and asks for the rest.
#include "platforms/complete.hpp"

#include "platforms/slots.hpp"

#include "base/endpoint.hpp"

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
Result<> check_rank(const PlatformFacts& facts,
                    const Platform* platform,
                    const OptionNames& names) {
  const bool may_lack_rank = platform == nullptr || platform->may_lack_rank;
  if (!facts.node_rank && facts.no_rank) {
    return *facts.no_rank;
  }
  if (!facts.node_rank && !may_lack_rank) {
    return missing(nodes_as_written(facts), "which of the nodes this is", names.node_rank);
  }
  if (facts.node_rank && facts.node_rank->value >= facts.nodes->value) {
    return contradiction(
        *as_text(facts.node_rank), nodes_as_written(facts), "a rank must be below its count");
  }
  return {};
}

/// Why nobody knows how many nodes the job has.
Error without_nodes(const PlatformFacts& facts, const OptionNames& names) {
  if (!facts.node_rank && facts.no_rank) {
    return *facts.no_rank;
  }
  if (!facts.no_nodes) {
    return missing(as_text(facts.node_rank), "how many nodes the job has", names.nodes);
  }
  Error error = *facts.no_nodes;
  if (!facts.start_by.empty()) {
    error.message += "; start one on each by: " + facts.start_by + " " + names.command;
  }
  return error;
}

/// Where the agents meet: one node needs nobody's word for it.
Result<> complete_leader(PlatformFacts& facts, const OptionNames& names) {
  const bool is_single = facts.nodes->value == 1;
  // A port of our own needs no name that others know, nor one that must resolve first.
  const bool is_local_port = is_single && !facts.master_port;
  if (is_single &&
      (!facts.master_address || (is_local_port && !is_given(facts.master_address->source)))) {
    facts.master_address = {"127.0.0.1", {}};
  }
  if (!facts.master_address && facts.no_leader) {
    return *facts.no_leader;
  }
  if (!facts.master_address) {
    return missing(nodes_as_written(facts), "where the leader is", names.master_address);
  }
  if (!facts.master_port && !is_single) {
    facts.master_port = {kUsualPort, {}};
  }
  return {};
}

}  // namespace

Result<> complete(PlatformFacts& facts,
                  const JobRoles& roles,
                  const Platform* platform,
                  const OptionNames& names) {
  if (!facts.nodes && !facts.node_rank && platform == nullptr) {
    facts.nodes = {1, {}};
  }
  if (!facts.nodes) {
    return without_nodes(facts, names);
  }
  const bool is_single = facts.nodes->value == 1;
  if (!facts.node_rank && is_single && !facts.no_rank) {
    facts.node_rank = {0, facts.nodes->source};
  }
  if (auto checked = check_rank(facts, platform, names); !checked) {
    return checked;
  }
  if (auto found = complete_leader(facts, names); !found) {
    return found;
  }
  avoid_listeners(facts, roles);
  return {};
}

}  // namespace muster
