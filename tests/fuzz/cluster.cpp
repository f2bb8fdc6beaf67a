// Any environment: lines NAME=value are variables, --name=value are flags, "@task host" is a line
// of a Volcano host file. The golden cases are its first inputs. Each is read twice: for a mode that
// does not count its roles, and for one that does and so reads TF_CONFIG and TF_*_HOSTS.
#include "platforms/cluster.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"
#include "fuzz.hpp"
#include "plan/launch_plan.hpp"

#include <set>
#include <string>

namespace muster::fuzz {
namespace {

struct Given {
  Snapshot snapshot;
  Settings settings;
};

Given read(std::string_view text) {
  Given given;
  given.snapshot.host_name = "llm-worker-1";
  given.snapshot.devices.nvidia = 2;
  given.snapshot.cores.source = "affinity";
  for (const std::string& line : split(text, '\n')) {
    const std::size_t at = line.find_first_of("= ");
    if (at == std::string::npos) {
      continue;
    }
    const std::string name = line.substr(0, at);
    const std::string value = line.substr(at + 1);
    if (name.starts_with("--")) {
      given.settings.set(name.substr(2), {value, from_flag(name)});
    } else if (name.starts_with('@')) {
      given.snapshot.files[name.substr(1)] += value + "\n";
    } else {
      given.snapshot.variables[name] = value;
    }
  }
  return given;
}

void check(const Cluster& cluster) {
  const auto nodes = static_cast<std::size_t>(cluster.job.most_nodes);
  require(cluster.job.most_nodes >= 1, "a job has a node");
  require(cluster.assumed_rank().value >= 0 && cluster.assumed_rank().value < cluster.job.most_nodes, "rank < count");
  require(cluster.hosts.size() == nodes && cluster.slots.size() == nodes, "one entry per node");
  require(cluster.node.slots >= 1, "a node has a slot");
  require(!cluster.master_address.empty(), "workers meet somewhere");
  require(cluster.job.most_nodes == 1 || cluster.master_port, "several nodes know their port");
  require(!cluster.job.total_slots || *cluster.job.total_slots >= cluster.node.slots,
          "one node has no more workers than the job");
  for (const Decision& decision : cluster.decisions) {
    require(!decision.source.empty(), "every value has a source");
  }
}

/// Listed tasks are nodes, each with an address of its own.
void check_roles(const Cluster& cluster) {
  int processes = 0;
  for (const RoleSize& size : cluster.job.roles) {
    require(size.count > 0, "a role that is counted has processes");
    processes += size.count;
  }
  std::set<std::string> seen;
  for (const RoleEndpoints& list : cluster.job.endpoints) {
    for (const std::string& endpoint : list.endpoints) {
      require(seen.insert(endpoint).second, "each task listens at a place of its own");
    }
  }
  if (!cluster.job.endpoints.empty()) {
    require(processes == cluster.job.most_nodes, "each task is a node");
    require(cluster.node.slots == 1, "each task is one process");
  }
}

/// A description that holds; false for an error, which must be one that the user can act on.
bool is_sound(const Result<Cluster>& cluster) {
  if (!cluster) {
    const int code = cluster.error().exit_code();
    require(code == 64 || code == 78, "64 or 78");
    require(!cluster.error().message.empty(), "an error says something");
    return false;
  }
  check(*cluster);
  return true;
}

void check(const LaunchPlan& plan) {
  for (const WorkerPlan& worker : plan.workers) {
    // A worker of another launcher has the ranks that it was given, whatever they are.
    require(plan.is_transparent || worker.global_rank.value < plan.world_size, "global rank < world size");
  }
  const json::value document = to_document(plan);
  const std::string text = pretty_json(document);
  require(valid_utf8(text) == text, "JSON is UTF-8");
  require(json::parse(text) == document, "JSON is read back");
  if (plan.workers.size() == 1) {  // slow
    require(parse_yaml(to_yaml(document), "plan").has_value(), "YAML is read back");
  }
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const fuzz::Given given = fuzz::read(fuzz::text_of(data, size));
  JobRequest job;
  job.program = {"train"};
  if (is_already_worker(given.snapshot)) {
    fuzz::check(make_worker_plan(job, given.snapshot));
  }
  const auto counted = describe_cluster(given.snapshot, given.settings, {"chief", "worker", "ps", "evaluator"});
  if (fuzz::is_sound(counted)) {
    fuzz::check_roles(*counted);
  }
  const auto cluster = describe_cluster(given.snapshot, given.settings);
  if (!fuzz::is_sound(cluster)) {
    return 0;
  }
  if (cluster->job.most_nodes < 10 && cluster->node.slots < 10) {
    static const ChosenMode mode = *choose_mode({});
    fuzz::check(make_plan({*cluster, mode, job, given.snapshot}));
  }
  return 0;
}
