// Prints the plan as JSON documents for users and tests (docs/interfaces.md fixes the fields), and names log files.
#include "plan/plan_document.hpp"

#include "base/json.hpp"
#include "base/lists.hpp"
#include "base/secrets.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

namespace muster {

// Names log files in two layouts: muster's and torchrun's.
// Source: DefaultLogsSpecs in torch/distributed/elastic/multiprocessing/api.py of torch 2.13.

namespace {

/// A value filled at start that makes a run's directory unique: drawn once per node and shared by all attempts.
constexpr const char* kToken = "log_token";

std::string in_log_dir(const JobRequest& job, const std::string& name) {
  return job.log_dir.empty() ? name : job.log_dir + "/" + name;
}

}  // namespace

std::string name_log_folder(const JobRequest& job, int attempt, const std::string& run_id) {
  std::string run = run_id + "_" + mark_deferred(kToken);
  std::ranges::replace(run, '/', '_');  // one directory
  run = job.log_layout == LogLayout::ByRank ? "" : run + "/";
  return in_log_dir(job, run + "attempt_" + std::to_string(attempt));
}

StreamLogs name_logs(const JobRequest& job, const std::string& folder, const LogOwner& owner) {
  if (job.log_layout != LogLayout::ByRank) {
    const std::string own = folder + "/" + owner.local_rank;
    return {own + "/stdout.log", own + "/stderr.log"};
  }
  // A name that ends with .txt is a complete file name.
  const std::string path = owner.path.empty() ? folder + "/" + owner.name : in_log_dir(job, owner.path);
  if (!owner.joins_streams) {
    return {path + ".out", path + ".err"};
  }
  const std::string both = path.ends_with(".txt") ? path : path + ".log";
  return {both, both};
}

std::string name_error_file(const RolePlan& shared, const Values& values) {
  const JobRequest& job = shared.input.job;
  if (shared.role.error_file.empty() || job.log_layout == LogLayout::Nothing) {
    return {};
  }
  if (job.log_layout == LogLayout::ByRank || job.log_dir.empty()) {
    return fill_placeholders(shared.role.error_file, values);
  }
  const std::filesystem::path here = shared.input.snapshot.working_directory;
  const std::string file = shared.log_folder + "/" + values.at("local_rank") + "/error.json";
  return (here / file).lexically_normal().string();
}

/// In muster's layout the files lie beside the logs of the first worker, with the node rank in their names, because
/// several nodes may share that directory.
void name_node_files(LaunchPlan& plan, const JobRequest& job, const std::string& folder) {
  const bool is_own = job.log_layout == LogLayout::ByRank;
  const bool is_beside = is_own && !plan.workers.empty();
  const std::string place =
      is_beside ? std::filesystem::path(plan.workers.front().log.out).parent_path().string() : folder;
  const std::string node = is_own && plan.placement.nodes > 1 ? "_" + to_string(plan.placement.node_rank) : "";
  plan.chosen_lines = {place + "/filtered_stdout" + node + ".log", place + "/filtered_stderr" + node + ".log"};
  plan.stacks_file = place + "/stacks" + node + ".txt";
  plan.on_hang_file = place + "/on-hang" + node + ".log";
  plan.preflight_file = place + "/preflight" + node + ".log";
}

namespace {

json::array arguments_document(const std::vector<std::string>& argv) {
  const std::vector<std::string> arguments = masked_arguments(argv);
  return json::array(arguments.begin(), arguments.end());
}

json::object binding_document(const CpuBinding& binding) {
  return {{"cpus", describe_ranges(binding.cpus)},
          {"memory_nodes", describe_ranges(binding.memory_nodes)},
          {"memory", binding.memory_nodes.empty() ? "first touch"
                     : binding.is_memory_strict   ? "bound"
                                                  : "preferred"},
          {"how", binding.how}};
}

json::array log_document(const StreamLogs& log) {
  json::array files{readable(log.out)};
  if (!log.are_joined()) {
    files.emplace_back(readable(log.err));
  }
  return files;
}

json::object process_document(const WorkerPlan& worker) {
  json::object environment;
  for (const auto& [name, value] : worker.environment) {
    environment[name] = masked(name, readable(value));
  }
  json::object process{{"role", worker.role},
                       {"global_rank", worker.global_rank.value},
                       {"local_rank", worker.local_rank.value},
                       {"argv", arguments_document(worker.argv)},
                       {"env", std::move(environment)},
                       {"unset", json::array(worker.unset.begin(), worker.unset.end())},
                       {"cwd", worker.working_directory},
                       {"log", log_document(worker.log)}};
  if (worker.binding) {
    process["binding"] = binding_document(*worker.binding);
  }
  return process;
}

json::object file_document(const PlannedFile& file) {
  constexpr std::size_t kMostShown = 65'536;  // a rank table may have millions of bytes
  json::object document{{"path", readable(file.path)}, {"mode", file.mode}};
  if (file.content.size() <= kMostShown) {
    document["content"] = readable(file.content);
  } else {
    document["bytes"] = file.content.size();
  }
  if (file.is_private) {
    document["private"] = true;
  }
  return document;
}

json::object nodes_document(const LaunchPlan& plan) {
  const Cluster& cluster = plan.cluster;
  json::array hosts;
  for (const auto& host : cluster.hosts) {
    hosts.push_back(host ? json::value(*host) : json::value(nullptr));
  }
  return {{"count", plan.placement.nodes},
          {"rank", cluster.node.rank ? json::value(plan.placement.node_rank.value) : json::value(nullptr)},
          {"hosts", std::move(hosts)},
          {"slots", json::array(cluster.slots.begin(), cluster.slots.end())}};
}

json::array decisions_document(const LaunchPlan& plan) {
  json::array decisions;
  for (const Decision& decision : plan.cluster.decisions) {
    decisions.push_back(json::object{
        {"field", decision.field}, {"value", masked(decision.field, decision.value)}, {"source", decision.source}});
  }
  return decisions;
}

json::array lost_document(const LaunchPlan& plan) {
  json::array lost;
  for (const UnusedValue& other : plan.cluster.lost) {
    const std::string& name = other.seen.source.name;
    lost.push_back(json::object{{"field", other.field.empty() ? json::value(nullptr) : json::value(other.field)},
                                {"value", masked(name, other.seen.value)},
                                {"source", name},
                                {"why", other.why}});
  }
  return lost;
}

}  // namespace

std::vector<std::string> masked_arguments(const std::vector<std::string>& argv) {
  return masked_words(mapped(argv, readable));
}

json::value to_explanation(const LaunchPlan& plan) {
  json::value document = json::object{
      {"muster", MUSTER_VERSION}, {"decisions", decisions_document(plan)}, {"not_used", lost_document(plan)}};
  make_valid_utf8(document);
  return document;
}

json::value to_document(const LaunchPlan& plan) {
  json::array files;
  for (const PlannedFile& file : plan.files) {
    files.push_back(file_document(file));
  }
  json::array processes;
  for (const WorkerPlan& worker : plan.workers) {
    processes.push_back(process_document(worker));
  }
  const auto& port = plan.cluster.master_port;
  json::value document =
      json::object{{"muster", MUSTER_VERSION},
                   {"platform", plan.cluster.platform},
                   {"mode", plan.mode},
                   {"nodes", nodes_document(plan)},
                   {"rendezvous", json::object{{"address", plan.placement.master_address},
                                               {"port", port ? json::value(*port) : json::value("{worker_port}")}}},
                   {"world_size", plan.world_size},
                   {"decisions", decisions_document(plan)},
                   {"files", std::move(files)},
                   {"processes", std::move(processes)},
                   {"not_used", lost_document(plan)}};
  make_valid_utf8(document);
  return document;
}

}  // namespace muster
