// What can be asked of a template that has been read.
#include "modes/mode_template.hpp"

#include <algorithm>
#include <array>

namespace muster {

namespace {

constexpr auto kPlaceholders = std::to_array<const char*>({
    "agent_store",      "attempt",         "cores_per_worker",
    "cross_rank",       "cross_size",      "endpoint",
    "error_file",       "global_rank",     "host_count",
    "host_name",        "host_rank",       "hostfile",
    "interfaces",       "job_id",          "job_name",
    "job_secret",       "leader_address",  "local_rank",
    "local_world_size", "master_address",  "master_endpoint",
    "master_ip",        "max_restarts",    "mpirun_mapping",
    "mpirun_processes", "muster",          "networks",
    "neuron_cores",     "neuron_rank",     "neuron_root",
    "node_rank",        "nodes",           "oversubscribed",
    "own_address",      "own_interface",   "own_rank_table",
    "python",           "restarts",        "role",
    "role_rank",        "role_world_size", "run_dir",
    "run_id",           "shm_dir",         "slots",
    "store_port",       "task_config",     "visible_local_rank",
    "worker_port",      "world_size",
});

}  // namespace

const std::vector<std::string>& placeholder_names() {
  static const std::vector<std::string> names(kPlaceholders.begin(), kPlaceholders.end());
  return names;
}

std::vector<std::string> placeholder_names(const std::set<std::string>& parameters,
                                           const std::set<std::string>& roles) {
  std::vector<std::string> names = placeholder_names();
  names.insert(names.end(), parameters.begin(), parameters.end());
  for (const std::string& role : roles) {
    names.push_back(std::string(kCountOf) + ":" + role);
    names.push_back(std::string(kEndpointsOf) + ":" + role);
  }
  return names;
}

std::vector<std::string> texts_of(const RoleTemplate& role) {
  std::vector<std::string> texts = role.program;
  texts.insert(texts.end(), role.arguments.begin(), role.arguments.end());
  texts.insert(
      texts.end(), role.arguments_of_several_nodes.begin(), role.arguments_of_several_nodes.end());
  for (const NamedTexts* const named :
       {&role.environment, &role.environment_unless_set, &role.environment_if_given}) {
    for (const auto& [name, text] : *named) {
      texts.push_back(text);
    }
  }
  texts.insert(texts.end(), {role.working_directory, role.label, role.log, role.error_file});
  return texts;
}

std::vector<std::string> texts_of(const ModeTemplate& mode) {
  std::vector<std::string> texts;
  for (const RoleTemplate& role : mode.roles) {
    const std::vector<std::string> more = texts_of(role);
    texts.insert(texts.end(), more.begin(), more.end());
  }
  for (const FileTemplate& file : mode.files) {
    texts.insert(texts.end(), {file.path, file.content});
  }
  return texts;
}

bool use_placeholder(const std::vector<std::string>& texts, const std::string& placeholder) {
  const std::string written = "{" + placeholder + "}";
  return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
    return text.find(written) != std::string::npos;
  });
}

bool use_worker_port(const std::vector<std::string>& texts) {
  return use_placeholder(texts, "worker_port") || use_placeholder(texts, "master_endpoint");
}

bool runs_users_program(const RoleTemplate& role) {
  return role.program.empty() ||
         std::find(role.program.begin(), role.program.end(), kUsersProgram) != role.program.end();
}

std::vector<std::string> roles_to_be_given(const ModeTemplate& mode) {
  std::vector<std::string> names;
  for (const RoleTemplate& role : mode.roles) {
    if (role.may_be_given) {
      names.push_back(role.name);
    }
  }
  return names;
}

}  // namespace muster
