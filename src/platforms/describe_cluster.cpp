// Joins the platform's facts with flags and MUSTER_* variables into one description of the cluster, and refuses
// contradictions.
#include "base/display_text.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "environment/accelerators.hpp"
#include "options/readers.hpp"
#include "options/settings.hpp"
#include "platforms/cluster.hpp"
#include "platforms/compare_line.hpp"
#include "platforms/defaults.hpp"
#include "platforms/platform.hpp"
#include "platforms/request.hpp"
#include "platforms/roles.hpp"
#include "platforms/size_hints.hpp"
#include "platforms/slots.hpp"

#include <algorithm>
#include <array>

namespace muster {
namespace {

void add_hosts(Cluster& cluster, const PlatformFacts& facts) {
  const auto nodes = static_cast<std::size_t>(cluster.job.most_nodes);
  cluster.hosts.resize(nodes);
  if (facts.hosts && facts.hosts->value.size() == nodes) {
    std::ranges::copy(facts.hosts->value, cluster.hosts.begin());
  } else {
    cluster.hosts.front() = cluster.master_address;
  }
}

/// The platform that describes the nodes, and its sign: a number of nodes from the user makes it "flags".
Decision decide_platform(const Choice& choice, const PlatformFacts& facts) {
  if (!choice.name.empty()) {
    return {"platform", choice.name, choice.source.name};
  }
  if (is_given(facts.nodes->source) || facts.are_nodes_of_total) {
    return {"platform", "flags", facts.nodes->source.name};
  }
  return {"platform", choice.platform == nullptr ? "single" : choice.platform->name, choice.source.name};
}

/// Sorts and removes duplicates, so that all nodes have one order.
std::vector<std::string> as_set(std::vector<std::string> names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// Adds count and rank of the nodes.
void add_nodes(Cluster& cluster, const PlatformFacts& facts) {
  const std::string& source = facts.nodes->source.name;
  JobFacts& job = cluster.job;
  job.most_nodes = facts.nodes->value;
  job.least_nodes = facts.least_nodes.value_or(job.most_nodes);
  cluster.decisions.push_back({"nodes.count", std::to_string(job.most_nodes), source});
  if (job.least_nodes < job.most_nodes) {
    cluster.decisions.push_back({"nodes.least", std::to_string(job.least_nodes), source});
  }
  if (const auto& rank = facts.node_rank) {
    cluster.node.rank = NodeRank{rank->value};
    cluster.decisions.push_back({"nodes.rank", std::to_string(rank->value), rank->source.name});
  } else {
    cluster.decisions.push_back({"nodes.rank", "by arrival", "the gang, at start"});
  }
}

/// Checks the job's name, which is sent to the leader, compared there, and shown in messages.
Result<> check_name(const Sourced<std::string>& name) {
  constexpr std::size_t kMostBytes = 255;
  constexpr std::size_t kShown = 80;
  if (name.value.size() <= kMostBytes && visible_line(name.value) == name.value) {
    return {};
  }
  return wrong_value({shortened(visible_line(name.value), kShown), name.source},
                     "at most 255 bytes of UTF-8 without control and invisible characters");
}

/// Adds job options of torchrun that no platform has.
Result<> add_job(Cluster& cluster, const PlatformFacts& facts, const Snapshot& snapshot,
                 const std::optional<Sourced<int>>& restarts_given) {
  if (facts.job_id && !facts.job_id->value.empty()) {
    TRY(check_name(*facts.job_id));
    cluster.job.job_id = facts.job_id->value;
    cluster.decisions.push_back({"job_id", cluster.job.job_id, facts.job_id->source.name});
  }
  if (!facts.secret_file.empty() && cluster.job.most_nodes > 1) {
    cluster.secret_file = facts.secret_file;
    cluster.decisions.push_back({"token", "***", facts.secret_file});
  }
  const auto restarts = TRY(find_restarts(snapshot, restarts_given));
  cluster.max_restarts = restarts.value;
  if (restarts.source.kind != SourceKind::Default) {
    cluster.decisions.push_back({"max_restarts", std::to_string(restarts.value), restarts.source.name});
  }
  return {};
}

/// Merges the platform's facts, the task lists and the user's values, each overriding the former.
Result<PlatformFacts> gather(const Choice& choice, const JobRoles& roles, const Snapshot& snapshot,
                             const ClusterRequest& request, const ModeFacts& mode) {
  PlatformFacts facts;
  if (choice.platform != nullptr) {
    facts = TRY(read_platform(*choice.platform, snapshot));
  }
  if (facts.mode_of_workers != mode.name && !mode.is_users_own) {
    facts.workers.reset();
  }
  if (!facts.slots) {  // torchrun reads it everywhere, and images set it for that
    facts.slots = sourced_variable(snapshot, "PET_NPROC_PER_NODE");
  }
  apply_tasks(facts, roles);
  if (facts.torn_nodes) {
    return *facts.torn_nodes;
  }
  const Platform* const passed_over = find_passed_over(choice, snapshot, request, mode.roles);
  TRY(passed_over != nullptr ? check_against_placed_tasks(*passed_over, snapshot, request)
                             : apply_share(facts, request));
  apply_request(facts, request);
  TRY(check_against_tasks(facts, roles));
  return facts;
}

/// Builds the part that does not depend on the roles and slots.
Result<Cluster> start_cluster(const Choice& choice, const PlatformFacts& facts, const Ports& ports,
                              const Snapshot& snapshot, const ClusterRequest& request) {
  auto remark = TRY(check_leader_address(facts));
  Cluster cluster;
  if (!remark.empty()) {
    cluster.notices.push_back(std::move(remark));
  }
  if (!facts.remark.empty() && facts.nodes->value > 1) {
    cluster.notices.push_back(facts.remark);
  }
  cluster.decisions = {decide_platform(choice, facts)};
  cluster.platform = cluster.decisions.front().value;
  cluster.master_address = facts.master_address->value;
  cluster.master_address_from = facts.master_address->source.name;
  add_nodes(cluster, facts);
  cluster.decisions.push_back({"rendezvous.address", cluster.master_address, facts.master_address->source.name});
  add_ports(cluster, ports);
  TRY(add_job(cluster, facts, snapshot, request.max_restarts));
  // Adds facts and notices about what the platform does by itself.
  if (const auto& count = facts.restart_count) {
    cluster.platform_restarts = count->value;
    cluster.decisions.push_back({"platform.restarts", std::to_string(count->value), count->source.name});
  }
  if (const auto& grace = facts.grace) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(grace->value);
    cluster.decisions.push_back({"platform.grace", std::to_string(seconds.count()) + " s", grace->source.name});
  }
  add_hosts(cluster, facts);
  return cluster;
}

/// The request, and its surroundings.
struct Asked {
  const Snapshot& snapshot;
  const Counters& counters;  ///< of the snapshot
  const ClusterRequest& request;
  const ModeFacts& mode;
};

/// Compares the line with the platform that it replaces, whose hosts are then known too. Returns notices.
Result<std::vector<std::string>> compare(PlatformFacts& facts, const Choice& choice, const Sourced<int>& slots,
                                         const Asked& asked) {
  const Snapshot& snapshot = asked.snapshot;
  const ClusterRequest& request = asked.request;
  const bool is_silent = !request.nodes && !request.node_rank && !request.master_address;
  const Platform* const around =
      choice.platform != nullptr ? choice.platform : find_passed_over(choice, snapshot, request, asked.mode.roles);
  if (is_silent || around == nullptr) {  // the line says nothing, so the platform is not read once more
    return std::vector<std::string>();
  }
  if (facts.nodes->value == 1 && !facts.share) {
    std::string remark = TRY(check_not_in_each_task(*around, *facts.nodes, slots, snapshot));
    return remark.empty() ? std::vector<std::string>() : std::vector{std::move(remark)};
  }
  const ReplacedPlatform replaced{*around, read_platform(*around, snapshot), request, snapshot};
  auto notices = TRY(compare_with_platform(replaced, facts));
  if (auto hosts = hosts_that_fit(replaced, facts)) {
    facts.hosts = std::move(hosts);
  }
  return notices;
}

/// Makes muster's grace a fifth shorter than the platform's, so that it ends before the platform's SIGKILL. 0: the
/// platform kills without a SIGTERM.
void add_grace(Cluster& cluster, const PlatformFacts& facts, const ClusterRequest& request) {
  std::chrono::milliseconds& grace = cluster.node.grace;
  const bool is_asked = facts.grace && facts.grace->value.count() > 0;
  const auto most = is_asked ? facts.grace->value * 4 / 5 : grace;
  if (request.grace) {
    grace = *request.grace;
    const bool is_cut = facts.grace && grace > facts.grace->value;
    cluster.decisions.push_back({"grace", format_seconds(std::chrono::duration<double>(grace).count()) + " s",
                                 is_cut ? "--grace, but the platform's SIGKILL comes before its end" : "--grace"});
  } else if (most < grace) {
    grace = most;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(grace);
    cluster.decisions.push_back({"grace", std::to_string(seconds.count()) + " s", facts.grace->source.name});
  }
}

/// Adds this node's devices, so that the leader can say if several nodes use the same ones. Does nothing where a
/// launcher has placed the workers of a host, because it gives each its own devices.
void add_devices(Cluster& cluster, const Snapshot& snapshot) {
  if (cluster.job.most_nodes == 1 || cluster.share) {
    return;
  }
  cluster.node.devices = devices_of_workers(snapshot, cluster.node.slots);
  cluster.node.device_view = cluster.node.devices.empty() ? "" : snapshot.device_view.get();
}

/// Joins the results into one description.
Result<Cluster> join_facts(const Choice& choice, const JobRoles& roles, const PlatformFacts& facts,
                           const Sourced<int>& slots, const Asked& asked) {
  const auto ports = TRY(choose_ports(facts, asked.request, asked.mode));
  auto cluster = TRY(start_cluster(choice, facts, ports, asked.snapshot, asked.request));
  TRY(add_slots(cluster, facts, slots));
  if (auto crowd = describe_oversubscription(slots, asked.snapshot); !crowd.empty()) {
    cluster.notices.push_back(std::move(crowd));
  }
  add_share(cluster, facts);
  TRY(check_ports(ports, roles));
  add_roles(cluster, roles);
  cluster.lost = facts.lost;
  for (UnusedValue& unused : find_unused(cluster.decisions, facts.lost, choice, asked.counters)) {
    cluster.lost.push_back(std::move(unused));
  }
  cluster.job.mode = asked.mode.name;
  cluster.job.template_digest = asked.mode.digest;
  cluster.job.success_roles = as_set(asked.mode.success_roles);
  cluster.node.host = asked.snapshot.host_name;
  cluster.node.machine = asked.snapshot.variable("KUBERNETES_SERVICE_HOST") ? "" : asked.snapshot.host_name;
  cluster.node.role_name = asked.mode.role_name;
  add_devices(cluster, asked.snapshot);
  add_grace(cluster, facts, asked.request);
  return cluster;
}

}  // namespace

Result<Cluster> describe_cluster(const Snapshot& snapshot, const ClusterRequest& request, const ModeFacts& mode) {
  const auto choice = TRY(choose_platform(snapshot, request, mode.roles));
  const auto job_roles = TRY(read_job_roles(choice, snapshot, request, mode.roles));
  auto facts = TRY(gather(choice, job_roles, snapshot, request, mode));
  const auto slots = TRY(find_slots(facts, snapshot));
  TRY(apply_total(facts, request.workers, slots));
  TRY(complete(facts, job_roles, choice.platform, request.names));
  if (choice.name == "single" && facts.nodes->value > 1) {
    return contradiction({choice.name, choice.source}, nodes_as_written(facts), "a single node has no others");
  }
  const Counters counters = find_counters(snapshot);
  auto remark = TRY(check_not_alone(facts, choice, job_roles, slots.value, counters));
  const Asked asked{snapshot, counters, request, mode};
  auto notices = TRY(compare(facts, choice, slots, asked));
  if (!remark.empty()) {
    notices.push_back(std::move(remark));
  }
  auto cluster = TRY(join_facts(choice, job_roles, facts, slots, asked));
  cluster.notices.insert(cluster.notices.begin(), notices.begin(), notices.end());  // likelier causes of a wait
  return cluster;
}

Result<Sourced<int>> read_restarts(const Sourced<std::string>& text) {
  return Sourced<int>{TRY(read_number_within(text, 0, 1'000'000, "a number of restarts")), text.source};
}

Result<Sourced<int>> find_restarts(const Snapshot& snapshot, const std::optional<Sourced<int>>& given) {
  const auto text = sourced_variable(snapshot, "PET_MAX_RESTARTS");
  if (given || !text) {
    return given.value_or(Sourced<int>{0, {}});
  }
  return read_restarts(*text);
}

bool is_already_worker(const Snapshot& snapshot) {
  const auto is_integer = [&](std::string_view name) {
    const auto value = snapshot.variable(name);
    return value && parse_integer(*value, 0, kMostNodes).has_value();
  };
  return is_integer("LOCAL_RANK") && is_integer("LOCAL_WORLD_SIZE");
}

std::vector<std::string> platform_names() {
  auto names = mapped(platforms(), [](const Platform* platform) { return std::string(platform->name); });
  names.insert(names.begin(), {"flags", "single"});
  return names;
}

// Reads the user's options about the nodes, in this one place, and ranks them above the platform's values.

namespace {

Result<Sourced<std::vector<std::string>>> read_hosts_of_nodes(const Sourced<std::string>& text) {
  return Sourced<std::vector<std::string>>{split(text.value, ','), text.source};
}

/// The settings about the nodes, and where each goes.
constexpr auto kReaders = std::to_array<std::pair<const char*, OptionReader>>({
    {"platform", kInto<&ClusterRequest::platform, read_text>},
    {"nproc-per-node", kInto<&ClusterRequest::slots, read_text>},
    {"job-id", kInto<&ClusterRequest::job_id, read_text>},
    {"roles", kInto<&ClusterRequest::roles, read_text>},
    {"nnodes", kInto<&ClusterRequest::nodes, read_node_range>},
    {"total-workers", kInto<&ClusterRequest::workers, read_sourced_number<1, kMostWorkers, "a number of workers">>},
    {"max-restarts", kInto<&ClusterRequest::max_restarts, read_restarts>},
    {"node-rank", kInto<&ClusterRequest::node_rank, read_node_rank>},
    {kHostsOfNodes, kInto<&ClusterRequest::hosts, read_hosts_of_nodes>},
    {"master-addr", kInto<&ClusterRequest::master_address, read_address>},
    {"master-port", kInto<&ClusterRequest::master_port, read_port>},
    {"worker-port", kInto<&ClusterRequest::worker_port, read_port>},
    {"gang-port", kInto<&ClusterRequest::gang_port, read_port>},
    {"grace", kInto<&ClusterRequest::grace, read_seconds>},
});

Sourced<std::string> as_text(const Sourced<std::string>& text) {
  return text;
}

/// Replaces a value, and notes the old one as lost if it differs.
template <typename T>
void override_field(std::vector<UnusedValue>& lost, const char* name, std::optional<Sourced<T>>& field,
                    const std::optional<Sourced<T>>& given) {
  if (!given) {
    return;
  }
  if (field && field->value != given->value) {
    lost.push_back({name, as_text(*field), given->source.name + " replaces it"});
  }
  field = given;
}

}  // namespace

void apply_request(PlatformFacts& facts, const ClusterRequest& request) {
  if (request.nodes) {
    const std::optional<Sourced<int>> most{{request.nodes->value.most, request.nodes->source}};
    override_field(facts.lost, "nodes.count", facts.nodes, most);
    set_nodes(facts, *request.nodes);
    facts.workers.reset();  // they counted the platform's nodes
  }
  // A job of one node has only rank 0, whatever the platform calls this machine, and values for several nodes do not
  // apply to it.
  if (request.nodes && facts.nodes->value == 1) {
    facts.node_rank = {0, facts.nodes->source};
    facts.hosts.reset();
    facts.master_address.reset();
    facts.master_port.reset();
  }
  if (request.hosts && facts.nodes && facts.nodes->value > 1) {
    facts.hosts = request.hosts;
  }
  override_field(facts.lost, "nodes.rank", facts.node_rank, request.node_rank);
  override_field(facts.lost, "rendezvous.address", facts.master_address, request.master_address);
  override_field(facts.lost, "rendezvous.port", facts.master_port, request.master_port);
  override_field(facts.lost, "nodes.slots", facts.slots, request.slots);
  override_field(facts.lost, "job_id", facts.job_id, request.job_id);
}

Result<ClusterRequest> read_cluster_request(const Settings& settings) {
  ClusterRequest request;
  for (const auto& [name, reader] : kReaders) {
    const auto given = settings.find(name);
    TRY(given ? reader.read(&request, *given) : Result<>());
  }
  return request;
}

Result<Sourced<int>> read_max_restarts(const Snapshot& snapshot, const Settings& settings) {
  return find_restarts(snapshot, TRY(read_given(settings.find("max-restarts"), read_restarts)));
}

Result<Cluster> describe_cluster(const Snapshot& snapshot, const Settings& settings,
                                 const std::vector<std::string>& roles) {
  const auto request = TRY(read_cluster_request(settings));
  const RunMethod* const method = find_run_method(snapshot);
  ModeFacts mode;
  mode.name = method == nullptr ? "" : method->mode;
  mode.roles = roles;
  return describe_cluster(snapshot, request, mode);
}

// Sources: Huawei Cloud, ModelArts, "Preset images: how the boot file is started"; Ascend/mind-cluster,
// ascend-operator/pkg/controllers/v1/env.go.

namespace {

constexpr const char* kVariable = "MA_RUN_METHOD";

constexpr std::array<RunMethod, 2> kMethods = {{
    {.mode = "torchrun",
     .master_port = "MA_TORCHRUN_MASTER_PORT",
     .usual_port = 18'888,
     .more_options = "MA_EXTRA_TORCHRUN_PARAMS"},
    {.mode = "msrun",
     .master_address = "MSRUN_MASTER_ADDR",
     .master_port = "MSRUN_MASTER_PORT",
     .workers = "MSRUN_WORKER_NUM",
     .log_dir = "MSRUN_LOG_DIR",
     .cluster_time_out = "MSRUN_CLUSTER_TIME_OUT"},
}};

}  // namespace

const RunMethod* find_run_method(const Snapshot& snapshot) {
  const auto word = snapshot.variable(kVariable);
  return first_of(kMethods, [&](const RunMethod& method) { return word == method.mode; });
}

Result<std::optional<Sourced<std::string>>> mode_of_run_method(const Snapshot& snapshot) {
  const auto word = snapshot.variable(kVariable);
  if (!word || word->empty()) {
    return std::optional<Sourced<std::string>>();
  }
  Sourced<std::string> mode{*word, from_variable(kVariable)};
  if (find_run_method(snapshot) == nullptr) {
    return wrong_value(mode, "torchrun or msrun");
  }
  return std::optional(std::move(mode));
}

std::optional<Source> find_mindspore_pod(const Snapshot& snapshot) {
  for (const char* const name : {"MS_ROLE", "MS_WORKER_NUM", "MS_LOCAL_WORKER", "MS_NODE_RANK"}) {
    if (snapshot.variable(name).value_or("").empty()) {
      return std::nullopt;
    }
  }
  return from_variable("MS_ROLE and MS_LOCAL_WORKER");
}

}  // namespace muster
