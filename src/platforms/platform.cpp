// The list of platforms, the choice among them, and the strict readers of single values that they share.
#include "platforms/platform.hpp"

#include "base/endpoint.hpp"
#include "base/lists.hpp"
#include "base/secrets.hpp"
#include "base/text.hpp"
#include "options/readers.hpp"
#include "platforms/host_lists.hpp"
#include "platforms/slots.hpp"
#include "platforms/task_config.hpp"

#include <algorithm>
#include <array>

namespace muster {

std::span<const Platform* const> platforms() {
#define MUSTER_LIST_PLATFORM(NAME) &(NAME),
  static constexpr std::array kPlatforms = {MUSTER_PLATFORMS(MUSTER_LIST_PLATFORM)};
#undef MUSTER_LIST_PLATFORM
  return kPlatforms;
}

std::optional<std::string> first_set(const Snapshot& snapshot, const Names& names) {
  for (const char* const name : names_before_null(names)) {
    if (snapshot.has(name)) {
      return name;
    }
  }
  return std::nullopt;
}

std::optional<std::string> find_sign(const Platform& platform, const Snapshot& snapshot) {
  if (platform.find_sign != nullptr) {
    return platform.find_sign(snapshot);
  }
  const PlatformSigns& signs = platform.signs;
  const bool are_all_set =
      std::ranges::all_of(names_before_null(signs.with), [&](const char* const name) { return snapshot.has(name); });
  const bool is_one_set = signs.with_any.front() == nullptr || first_set(snapshot, signs.with_any);
  return are_all_set && is_one_set && !first_set(snapshot, signs.without) ? first_set(snapshot, signs.any)
                                                                          : std::nullopt;
}

std::string describe_signs(const Platform& platform) {
  if (platform.sign_text != nullptr) {
    return platform.sign_text;
  }
  const auto signs = names_before_null(platform.signs.any);
  std::vector<std::string> names(signs.begin(), signs.end());
  const std::string last = names.back();
  names.pop_back();
  return names.empty() ? last : join(names, ", ") + " or " + last;
}

namespace {

/// The variable; empty where it is not set, or is empty and `may_be_empty`.
std::optional<Sourced<std::string>> filled_variable(const char* name, bool may_be_empty, const Snapshot& snapshot) {
  const auto text = name == nullptr ? std::nullopt : sourced_variable(snapshot, name);
  return text && text->value.empty() && may_be_empty ? std::nullopt : text;
}

Result<> read_leader_variables(PlatformFacts& facts, const PlatformVariables& variables, const Snapshot& snapshot) {
  const bool is_empty = variables.may_be_empty && snapshot.variable(variables.address.front()) == "";
  if (!is_empty) {
    TRY(read_agreeing(facts.master_address, snapshot, variables.address, read_address,
                      "both are the leader's address"));
  }
  facts.master_port = TRY(read_given(filled_variable(variables.port, false, snapshot), read_port));
  if (variables.meeting_point != nullptr) {
    TRY(read_meeting_point(facts, snapshot, variables.meeting_point));
  }
  if (const auto list = filled_variable(variables.hosts, variables.may_be_empty, snapshot)) {
    TRY(take_hosts(facts, TRY(read_host_list(*list))));
  }
  return {};
}

}  // namespace

Result<> read_variables(PlatformFacts& facts, const PlatformVariables& variables, const Snapshot& snapshot) {
  TRY(read_agreeing(facts.nodes, snapshot, variables.nodes, read_node_count, "both are the number of nodes"));
  if (const auto range = filled_variable(variables.node_range, false, snapshot)) {
    set_nodes(facts, TRY(read_node_range(*range)));
  }
  TRY(read_agreeing(facts.node_rank, snapshot, variables.node_rank, read_node_rank, "both are the rank of this node"));
  TRY(read_leader_variables(facts, variables, snapshot));
  facts.slots = filled_variable(variables.slots, false, snapshot);
  TRY(read_devices(facts, filled_variable(variables.devices, false, snapshot)));
  if (variables.all_devices != nullptr) {
    TRY(check_all_devices(facts, snapshot, variables.all_devices));
  }
  facts.restart_count = TRY(read_given(filled_variable(variables.restarts, false, snapshot), read_restarts));
  facts.job_id = filled_variable(variables.job_id, false, snapshot);
  return {};
}

Result<PlatformFacts> read_platform(const Platform& platform, const Snapshot& snapshot) {
  PlatformFacts facts;
  if (platform.grace) {
    facts.grace = {*platform.grace, default_of(platform.name)};
  }
  TRY(read_variables(facts, platform.variables, snapshot));
  if (platform.read != nullptr) {
    TRY(platform.read(facts, snapshot));
  }
  if (platform.usual_port != 0 && !facts.master_port && facts.nodes && facts.nodes->value > 1) {
    facts.master_port = Sourced<int>{platform.usual_port, default_of(platform.name)};
  }
  return facts;
}

Result<Sourced<int>> read_node_count(const Sourced<std::string>& text) {
  return Sourced<int>{TRY(read_number_within(text, 1, kMostNodes, "a number of nodes")), text.source};
}

Result<Sourced<NodeRange>> read_node_range(const Sourced<std::string>& text) {
  const std::size_t colon = text.value.find(':');
  const bool is_range = colon != std::string::npos;
  const auto least = parse_integer(text.value.substr(0, colon), 1, kMostNodes);
  const auto most = is_range ? parse_integer(text.value.substr(colon + 1), 1, kMostNodes) : least;
  if (!least || !most) {
    return wrong_value(text, "a number of nodes from 1 to " + std::to_string(kMostNodes) + ", or MIN:MAX such as 2:4");
  }
  if (*least > *most) {
    return wrong_value(text, "MIN:MAX with a MIN that is not above MAX");
  }
  return Sourced<NodeRange>{{*least, *most}, text.source};
}

void set_nodes(PlatformFacts& facts, const Sourced<NodeRange>& range) {
  facts.nodes = {range.value.most, range.source};
  facts.least_nodes = range.value.least;
}

Result<Sourced<int>> read_node_rank(const Sourced<std::string>& text) {
  return Sourced<int>{TRY(read_integer(text, 0, kMostNodes - 1, "a node rank such as 0 or 3")), text.source};
}

Result<std::optional<Sourced<int>>> read_task_index(const Snapshot& snapshot, const Names& names) {
  std::optional<Sourced<int>> index;
  constexpr const char* kWhy = "both are the index of this pod in its task";
  TRY(read_agreeing(index, snapshot, names, read_node_rank, kWhy));
  return index;
}

Result<Sourced<int>> read_port(const Sourced<std::string>& text) {
  return Sourced<int>{TRY(read_number_within(text, 1, kMostPort, "a port")), text.source};
}

Result<Sourced<std::string>> read_address(const Sourced<std::string>& text) {
  if (!is_host_or_address(text.value)) {
    const std::string mistake = describe_host_mistake(text.value);
    return wrong_value({shortened(text.value), text.source},
                       "a host name or an address" + (mistake.empty() ? ", without port and brackets" : mistake));
  }
  return text;
}

Error contradiction(const Sourced<std::string>& one, const Sourced<std::string>& other, std::string_view why) {
  const bool is_usage = one.source.kind == SourceKind::Flag || other.source.kind == SourceKind::Flag;
  return Error{is_usage ? ErrorKind::BadUsage : ErrorKind::BadEnvironment,
               one.source.name + " is '" + masked("", one.value) + "' but " + other.source.name + " is '" +
                   masked("", other.value) + "': " + std::string(why)};
}

Error contradiction(const Sourced<int>& one, const Sourced<int>& other, std::string_view why) {
  return contradiction(as_text(one), as_text(other), why);
}

// Looks for each platform's sign, the most specific one first, unless the user names a platform.

namespace {

/// True where task lists are needed: for a mode that counts its roles; for others only if the lists are the sole
/// description of other nodes.
bool are_lists_wanted(const Snapshot& snapshot, const ClusterRequest& request, const Roles& roles) {
  const bool is_described = request.nodes || request.workers || find_sign(kBare, snapshot);
  return !roles.empty() || (!is_described && are_several_tasks(snapshot));
}

Choice detect_platform(const Snapshot& snapshot, const ClusterRequest& request, const Roles& roles,
                       const Platform* excluded) {
  // Variables of a worker describe the job that contains this worker, and count processes.
  if (is_already_worker(snapshot)) {
    return {nullptr, "", {}};
  }
  for (const Platform* const platform : platforms()) {
    const auto sign = platform == excluded ? std::nullopt : find_sign(*platform, snapshot);
    if (sign && (!platform->is_list_of_tasks || are_lists_wanted(snapshot, request, roles))) {
      return {platform, "", from_variable(*sign)};
    }
  }
  return {nullptr, "", {}};
}

const Platform* find_platform(std::string_view name) {
  const auto* const at = first_of(platforms(), [&](const Platform* platform) { return name == platform->name; });
  return at == nullptr ? nullptr : *at;
}

}  // namespace

Result<Choice> choose_platform(const Snapshot& snapshot, const ClusterRequest& request, const Roles& roles) {
  const auto wanted = request.platform;
  if (!wanted) {
    return detect_platform(snapshot, request, roles, nullptr);
  }
  if (wanted->value == "flags" || wanted->value == "single") {
    return Choice{nullptr, wanted->value, wanted->source};
  }
  const bool is_excluded = wanted->value.starts_with('^');
  const Platform* const platform = find_platform(std::string_view(wanted->value).substr(is_excluded));
  if (platform == nullptr) {
    return wrong_value(*wanted, "one of " + join(platform_names(), ", "));
  }
  if (is_excluded) {
    return detect_platform(snapshot, request, roles, platform);
  }
  if (!find_sign(*platform, snapshot)) {
    return Error{error_kind(wanted->source), wanted->source.name + " is '" + wanted->value +
                                                 "', but this is missing: " + describe_signs(*platform)};
  }
  return Choice{platform, wanted->value, wanted->source};
}

const Platform* find_passed_over(const Choice& choice, const Snapshot& snapshot, const ClusterRequest& request,
                                 const Roles& roles) {
  const bool is_users = choice.source.kind == SourceKind::Option || choice.source.name == "--platform";
  const bool is_passed_over = !is_users && (choice.name == "flags" || choice.name == "single");
  return is_passed_over ? detect_platform(snapshot, request, roles, &kBare).platform : nullptr;
}

}  // namespace muster
