// The plan as a document: an interface that users and tests read. DESIGN 4 fixes its fields.
#include <muster/base/text.hpp>
#include <muster/plan/launch_plan.hpp>

#include <algorithm>
#include <cctype>

namespace muster {
namespace {

constexpr const char* kMasked = "***";

std::string masked(const std::string& name, const std::string& value) {
  return is_secret_name(name) ? kMasked : value;
}

/// "--api-token=x" and "--api-token x" lose their x: a plan is pasted into tickets.
json::array masked_arguments(const std::vector<std::string>& argv) {
  json::array arguments;
  bool is_secret_next = false;
  for (const std::string& argument : argv) {
    std::string name = argument.substr(0, argument.find('='));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
      return c == '-' ? '_' : static_cast<char>(std::toupper(c));
    });
    const bool is_option = argument.starts_with("--") && is_secret_name(name);
    const bool has_value = argument.find('=') != std::string::npos;
    if (is_secret_next && !argument.starts_with("--")) {
      arguments.emplace_back(kMasked);
    } else if (is_option && has_value) {
      arguments.emplace_back(argument.substr(0, argument.find('=') + 1) + kMasked);
    } else {
      arguments.emplace_back(argument);
    }
    is_secret_next = is_option && !has_value;
  }
  return arguments;
}

json::object process_document(const WorkerPlan& worker) {
  json::object environment;
  for (const auto& [name, value] : worker.environment) {
    environment[name] = masked(name, value);
  }
  return {{"role", worker.role},
          {"global_rank", worker.global_rank.value},
          {"local_rank", worker.local_rank.value},
          {"argv", masked_arguments(worker.argv)},
          {"env", std::move(environment)},
          {"unset", json::array(worker.unset.begin(), worker.unset.end())},
          {"cwd", worker.working_directory},
          {"log", worker.log}};
}

json::object nodes_document(const LaunchPlan& plan) {
  json::array hosts;
  for (const auto& host : plan.hosts) {
    hosts.push_back(host ? json::value(*host) : json::value(nullptr));
  }
  return {{"count", plan.nodes},
          {"rank", plan.node_rank.value},
          {"hosts", std::move(hosts)},
          {"slots", json::array(plan.slots.begin(), plan.slots.end())}};
}

}  // namespace

json::value to_document(const LaunchPlan& plan) {
  json::array decisions;
  for (const Decision& decision : plan.decisions) {
    decisions.push_back(json::object{{"field", decision.field},
                                     {"value", masked(decision.field, decision.value)},
                                     {"source", decision.source}});
  }
  json::array files;
  for (const PlannedFile& file : plan.files) {
    files.push_back(
        json::object{{"path", file.path}, {"mode", file.mode}, {"content", file.content}});
  }
  json::array processes;
  for (const WorkerPlan& worker : plan.workers) {
    processes.push_back(process_document(worker));
  }
  return json::object{{"muster", MUSTER_VERSION},
                      {"platform", plan.platform},
                      {"mode", plan.mode},
                      {"nodes", nodes_document(plan)},
                      {"rendezvous",
                       json::object{{"address", plan.master_address},
                                    {"port", plan.master_port ? json::value(*plan.master_port)
                                                              : json::value("{worker_port}")}}},
                      {"world_size", plan.world_size},
                      {"decisions", std::move(decisions)},
                      {"files", std::move(files)},
                      {"processes", std::move(processes)}};
}

}  // namespace muster
