// Platform readers for AWS Batch and Amazon SageMaker.
//
// AWS Batch, multi-node parallel jobs: AWS_BATCH_JOB_NODE_INDEX counts nodes; RANK and WORLD_SIZE are not
// set. The main node leads, whichever index it has, and is the only one without a variable for its address. The
// children of an array job (AWS_BATCH_JOB_ARRAY_INDEX) are separate jobs, not nodes of one.
// Source: AWS Batch User Guide, "Environment variables" of multi-node parallel jobs, "Job environment
// variables" and "Job timeouts" (30 seconds from SIGTERM to SIGKILL).
#include "base/text.hpp"
#include "options/readers.hpp"
#include "platforms/host_lists.hpp"
#include "platforms/platform.hpp"
#include "platforms/slots.hpp"
#include "platforms/task_config.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

constexpr const char* kMain = "AWS_BATCH_JOB_MAIN_NODE_INDEX";

Result<Sourced<int>> read_attempt(const Sourced<std::string>& text) {
  return Sourced<int>{TRY(read_integer(text, 1, kMostNodes, "the number of this attempt, from 1")) - 1, text.source};
}

/// Shifts the indices so that the main node has rank 0; those before it move up by one.
Result<> read_rank(PlatformFacts& facts, const Snapshot& snapshot) {
  auto& rank = facts.node_rank;
  const auto main = TRY(read_variable(snapshot, kMain, read_node_rank));
  if (main && facts.nodes && main->value >= facts.nodes->value) {
    return contradiction(*main, *facts.nodes, "an index must be below its count");
  }
  if (main && rank && rank->value <= main->value && main->value > 0) {
    rank = {rank->value == main->value ? 0 : rank->value + 1, part_of(rank->source, std::string(" and ") + kMain)};
  }
  return {};
}

Result<> read_aws_batch(PlatformFacts& facts, const Snapshot& snapshot) {
  TRY(read_rank(facts, snapshot));
  if (!facts.master_address && facts.node_rank && facts.node_rank->value == 0) {
    facts.master_address = {snapshot.host_name, {SourceKind::File, "host name"}};
  }
  TRY(read_into(facts.restart_count, snapshot, "AWS_BATCH_JOB_ATTEMPT", read_attempt));
  if (const auto job = sourced_variable(snapshot, "AWS_BATCH_JOB_ID")) {
    facts.job_id = {job->value.substr(0, job->value.find('#')), job->source};  // "<job>#<node>"
  }
  return {};
}

}  // namespace

const Platform kAwsBatch = {.name = "aws-batch",
                            .signs = {.any = {"AWS_BATCH_JOB_NUM_NODES", "AWS_BATCH_JOB_NODE_INDEX"}},
                            .variables = {.nodes = {"AWS_BATCH_JOB_NUM_NODES"},
                                          .node_rank = {"AWS_BATCH_JOB_NODE_INDEX"},
                                          .address = {"AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"}},
                            .read = read_aws_batch,
                            .counts = {"AWS_BATCH_JOB_NUM_NODES"},
                            .grace = std::chrono::seconds(30)};

// Amazon SageMaker training jobs: each host is a node. SageMaker itself mounts resourceconfig.json; its
// training images and its Python SDK derive SM_* from it. The hosts are ordered as texts, as the SDK orders
// them: "algo-10" comes before "algo-2", on all hosts alike, whatever order a list has. In a heterogeneous cluster
// the hosts of this host's instance group are the job, as they are for SageMaker's own launchers: another group has
// other machines and another part of the program. RANK and WORLD_SIZE are not read: SM_HOSTS decides. Where
// SageMaker starts mpirun itself, the variables of mpirun describe the processes.
// Source: Amazon SageMaker Developer Guide, "How Amazon SageMaker Provides Training Information",
// "StopTrainingJob" (120 seconds after SIGTERM); aws/sagemaker-training-toolkit, ENVIRONMENT_VARIABLES.md;
// aws/sagemaker-python-sdk, the driver of torchrun (SM_MASTER_*, SM_HOST_COUNT, SM_CURRENT_HOST_RANK).

namespace {

constexpr const char* kFile = "/opt/ml/input/config/resourceconfig.json";

/// The hosts of the job, and the name of this one.
struct Resources {
  std::optional<HostList> hosts;
  std::optional<Sourced<std::string>> own;
  std::optional<HostList> all;  ///< of all instance groups, where `hosts` are those of one
};

constexpr const char* kHostsForm = "a list of host names in JSON, each once";

Result<HostList> read_hosts(const Source& place, const json::value* value) {
  auto names = TRY(read_json_texts(place, value, kHostsForm));
  std::ranges::sort(names);
  const bool are_names = std::ranges::all_of(names, [](const std::string& name) {
    return read_address({name, {}}).has_value();
  });
  if (!are_names || std::adjacent_find(names.begin(), names.end()) != names.end()) {
    return wrong_member(place, value, kHostsForm);
  }
  return HostList{names, place};
}

Result<HostList> read_host_text(const Sourced<std::string>& listed) {
  const auto list = TRY(read_json(listed, kHostsForm));
  return read_hosts(listed.source, &list);
}

/// Narrows the job to this host's group, where there are several.
Result<Resources> take_group(const HostList& all, std::optional<Sourced<std::string>> own, const HostList& group) {
  if (group.value == all.value) {
    return Resources{all, std::move(own), {}};
  }
  return Resources{group, std::move(own), all};
}

/// The hosts of the group in current_group_name; `all` where there is none.
Result<HostList> read_group(const Source& file, const json::object& members, const HostList& all) {
  const json::value* const own = members.if_contains("current_group_name");
  const json::value* const listed = members.if_contains("instance_groups");
  const json::array* const groups = listed == nullptr ? nullptr : listed->if_array();
  if (own == nullptr || groups == nullptr) {
    return all;
  }
  for (const json::value& entry : *groups) {
    const json::object* const group = entry.if_object();
    const json::value* const name = group == nullptr ? nullptr : group->if_contains("instance_group_name");
    if (name != nullptr && *name == *own) {
      const Source place = part_of(file, " instance_groups." + shown(name));
      return read_hosts(place, group->if_contains("hosts"));
    }
  }
  return wrong_member(part_of(file, " current_group_name"), own, "one of instance_groups");
}

std::optional<Sourced<std::string>> find_file(const Snapshot& snapshot) {
  const auto file = snapshot.files.find(kFile);
  return file == snapshot.files.end() ? std::nullopt
                                      : std::optional(Sourced<std::string>{file->second, {SourceKind::File, kFile}});
}

/// Reads the toolkit's variable, which is an empty list where SageMaker names no group, else SageMaker's file.
Result<HostList> read_local_group(const HostList& all, const Snapshot& snapshot) {
  const auto group = sourced_variable(snapshot, "SM_CURRENT_INSTANCE_GROUP_HOSTS");
  if (group) {
    return group->value == "[]" ? Result<HostList>(all) : read_host_text(*group);
  }
  const auto variable = sourced_variable(snapshot, "SM_RESOURCE_CONFIG");
  const auto text = variable ? variable : find_file(snapshot);
  const auto members = text ? read_json_object(*text, "a JSON object with current_host and hosts")
                            : Result<json::object>(json::object());
  return members ? read_group(text ? text->source : all.source, *members, all) : members.error();
}

Result<Resources> read_variables(const Sourced<std::string>& listed, const Snapshot& snapshot) {
  const auto hosts = TRY(read_host_text(listed));
  return take_group(hosts, sourced_variable(snapshot, "SM_CURRENT_HOST"), TRY(read_local_group(hosts, snapshot)));
}

Result<Resources> read_resource_file(const Sourced<std::string>& file) {
  const auto members = TRY(read_json_object(file, "a JSON object with current_host and hosts"));
  const auto hosts = TRY(read_hosts(part_of(file.source, " hosts"), members.if_contains("hosts")));
  const json::value* const own = members.if_contains("current_host");
  return take_group(hosts, Sourced<std::string>{shown(own), part_of(file.source, " current_host")},
                    TRY(read_group(file.source, members, hosts)));
}

/// Reads SM_* variables, else the file.
Result<Resources> read_resources(const Snapshot& snapshot) {
  if (const auto listed = sourced_variable(snapshot, "SM_HOSTS")) {
    return read_variables(*listed, snapshot);
  }
  const auto file = find_file(snapshot);
  return file ? read_resource_file(*file) : Resources{{}, sourced_variable(snapshot, "SM_CURRENT_HOST"), {}};
}

/// Reads the numbers of the SDK's driver, which ignores groups.
Result<> read_of_all(PlatformFacts& facts, const Resources& resources, const Snapshot& snapshot) {
  TRY(read_into(facts.nodes, snapshot, "SM_HOST_COUNT", read_node_count));
  TRY(read_into(facts.node_rank, snapshot, "SM_CURRENT_HOST_RANK", read_node_rank));
  TRY(read_into(facts.master_address, snapshot, "SM_MASTER_ADDR", read_address));
  if (!resources.all) {
    return {};
  }
  const Sourced<std::string> all{std::to_string(resources.all->value.size()), resources.all->source};
  facts.lost.push_back({"nodes.count", all, "this host's instance group is the job"});
  facts.nodes.reset();
  facts.node_rank.reset();
  facts.master_address.reset();
  return {};
}

/// Takes this host's place in the list as its rank; SM_CURRENT_HOST_RANK must agree.
Result<> read_rank(PlatformFacts& facts, const Resources& resources) {
  auto& rank = facts.node_rank;
  if (!resources.hosts || !resources.own) {
    return {};
  }
  const auto& names = resources.hosts->value;
  const auto at = std::ranges::find(names, resources.own->value);
  if (at == names.end()) {
    return wrong_value(*resources.own, "one of the hosts of " + resources.hosts->source.name);
  }
  const Sourced<int> place{static_cast<int>(at - names.begin()), resources.own->source};
  if (rank && rank->value != place.value) {
    return contradiction(as_text(*rank), *resources.own, "that host has the rank " + std::to_string(place.value));
  }
  rank = rank ? rank : place;
  return {};
}

Result<> read_leader(PlatformFacts& facts, const Resources& resources, const Snapshot& snapshot) {
  TRY(read_into(facts.master_port, snapshot, "SM_MASTER_PORT", read_port));
  return resources.hosts ? take_hosts(facts, *resources.hosts) : Result<>();
}

std::optional<std::string> find_sagemaker_sign(const Snapshot& snapshot) {
  if (snapshot.has("OMPI_COMM_WORLD_SIZE")) {
    return std::nullopt;
  }
  const auto variable = first_set(snapshot, {"SM_HOSTS", "SM_CURRENT_HOST"});
  return variable || !snapshot.files.contains(kFile) ? variable : std::optional<std::string>(kFile);
}

Result<> read_sagemaker(PlatformFacts& facts, const Snapshot& snapshot) {
  const auto resources = TRY(read_resources(snapshot));
  TRY(read_of_all(facts, resources, snapshot));
  TRY(read_rank(facts, resources));
  TRY(read_leader(facts, resources, snapshot));
  for (const char* const name : {"SM_NUM_NEURONS", "SM_NUM_GPUS"}) {  // the non-zero one
    TRY(read_devices(facts, snapshot, name));
  }
  return {};
}

}  // namespace

const Platform kSagemaker = {.name = "sagemaker",
                             .sign_text = "SM_HOSTS or SM_CURRENT_HOST, or /opt/ml/input/config/resourceconfig.json",
                             .find_sign = find_sagemaker_sign,
                             .variables = {.job_id = "TRAINING_JOB_NAME"},
                             .read = read_sagemaker,
                             .counts = {"SM_HOSTS", "SM_HOST_COUNT", kFile},
                             .usual_port = 7777,
                             .grace = std::chrono::seconds(120)};

}  // namespace muster
