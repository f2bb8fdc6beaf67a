// Answers questions about a template that has been read, fills {placeholders}, and reads services, inputs and
// programs of roles. Pure.
#include "modes/mode_template.hpp"

#include "modes/read_template.hpp"

#include <algorithm>
#include <array>

namespace muster {

const std::vector<std::string>& placeholder_names() {
  static const std::vector<std::string> names = {
      "agent_store",
      "attempt",
      "cores_per_worker",
      "cross_rank",
      "cross_size",
      "endpoint",
      "error_file",
      "global_rank",
      "host_count",
      "host_name",
      "host_rank",
      "hostfile",
      "interfaces",
      "job_id",
      "job_name",
      "job_secret",
      "leader_address",
      "local_rank",
      "local_world_size",
      "master_address",
      "master_endpoint",
      "master_ip",
      "max_restarts",
      "mpirun_mapping",
      "mpirun_processes",
      "muster",
      "networks",
      "neuron_cores",
      "neuron_rank",
      "neuron_root",
      "node_rank",
      "node_slots",
      "nodes",
      "oversubscribed",
      "own_address",
      "own_interface",
      "own_rank_table",
      "python",
      "restarts",
      "role",
      "role_rank",
      "role_world_size",
      "run_dir",
      "run_id",
      "shm_dir",
      "slots",
      "task_config",
      "visible_local_rank",
      "worker_port",
      "world_size",
  };
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
  texts.insert(texts.end(), role.arguments_of_several_nodes.begin(), role.arguments_of_several_nodes.end());
  for (const NamedTexts* const named : {&role.environment, &role.environment_unless_set, &role.environment_if_given}) {
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
  return std::ranges::any_of(texts, [&](const std::string& text) { return text.find(written) != std::string::npos; });
}

namespace {

void add_placeholders(std::set<std::string>& names, const std::string& text) {
  std::size_t open = std::string::npos;
  for (std::size_t at = text.find_first_of("{}"); at != std::string::npos; at = text.find_first_of("{}", at + 1)) {
    if (text[at] == '}' && open != std::string::npos) {
      names.insert(text.substr(open + 1, at - open - 1));
    }
    open = text[at] == '{' ? at : std::string::npos;
  }
}

}  // namespace

std::set<std::string> used_placeholders(const std::vector<std::string>& texts) {
  std::set<std::string> names;
  for (const std::string& text : texts) {
    add_placeholders(names, text);
  }
  return names;
}

bool use_worker_port(const std::vector<std::string>& texts) {
  return use_placeholder(texts, "worker_port") || use_placeholder(texts, "master_endpoint");
}

bool runs_users_program(const RoleTemplate& role) {
  return role.program.empty() || contains(role.program, kUsersProgram);
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

// Fills {placeholders}.

namespace {

/// Placeholders whose values are known only at start.
constexpr std::array<std::string_view, 8> kLateNames = {"job_secret", "muster", "own_address", "own_interface",
                                                        "run_dir",    "run_id", "shm_dir",     "worker_port"};

/// Marks a placeholder that is filled later. Templates, variables and arguments cannot hold this byte, so no other
/// text looks like a mark.
constexpr char kLateMark = '\0';

/// The value of a placeholder, or its mark until the start; empty for an unknown name.
std::optional<std::string> value_or_mark(std::string_view name, const std::map<std::string, std::string>& values) {
  const auto value = values.find(std::string(name));
  if (value != values.end()) {
    return value->second;
  }
  const bool is_late = contains(kLateNames, name);
  return is_late ? std::optional(mark_deferred(name)) : std::nullopt;
}

/// Meaning of "{{" and "}}".
enum class Braces {
  Escaped,  ///< one brace, as in a template
  Text      ///< two braces, as in an argument of the user
};

std::string fill(std::string_view text, const std::map<std::string, std::string>& values, Braces braces) {
  std::string filled;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    const bool is_double = (c == '{' || c == '}') && at + 1 < text.size() && text[at + 1] == c;
    if (is_double && braces == Braces::Escaped) {
      filled += c;
      at += 2;
      continue;
    }
    const bool is_variable = braces == Braces::Text && at > 0 && text[at - 1] == '$';  // "${name}" of a shell
    const std::size_t end = c == '{' && !is_variable ? text.find('}', at) : std::string_view::npos;
    const auto value =
        end == std::string_view::npos ? std::nullopt : value_or_mark(text.substr(at + 1, end - at - 1), values);
    filled += value.value_or(std::string(1, c));
    at = value ? end + 1 : at + 1;
  }
  return filled;
}

}  // namespace

std::string fill_placeholders(std::string_view text, const std::map<std::string, std::string>& values) {
  return fill(text, values, Braces::Escaped);
}

std::string fill_known(std::string_view text, const std::map<std::string, std::string>& values) {
  return fill(text, values, Braces::Text);
}

std::string mark_deferred(std::string_view name) {
  return kLateMark + ("{" + std::string(name) + "}");
}

std::string fill_late(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string filled;
  std::size_t at = 0;
  for (std::size_t mark = text.find(kLateMark); mark != std::string_view::npos; mark = text.find(kLateMark, at)) {
    filled += text.substr(at, mark - at);
    const std::size_t end = std::min(text.find('}', mark), text.size() - 1);
    const std::string_view placeholder = text.substr(mark, end + 1 - mark);
    const auto value =
        std::ranges::find_if(values, [&](const auto& one) { return placeholder == mark_deferred(one.first); });
    if (value != values.end() && value->second.empty()) {
      return {};
    }
    filled += value == values.end() ? placeholder : std::string_view(value->second);
    at = end + 1;
  }
  return filled.append(text.substr(at));
}

std::string readable(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), kLateMark), text.end());
  return text;
}

// Reads the services, the inputs and the programs of roles.

namespace {

/// The path of an input must not use a value from the rendezvous: the file is awaited before it.
Result<> check_known_early(const std::string& text, const std::string& path, const Place& place) {
  for (const std::string& name : used_placeholders({text})) {
    const bool is_early = name == "host_name" || name == "job_id" || place.parameters.contains(name);
    if (!is_early && place.knows(name)) {
      return place.error(path, "uses {" + name + "}, which is not known yet when it is waited for");
    }
  }
  return {};
}

/// Reads the condition of an input: {field: status, is: completed}.
Result<> read_until(InputTemplate& input, const json::object& object, const std::string& path, const Place& place) {
  const json::value* const value = object.if_contains("until");
  if (value == nullptr) {
    return {};
  }
  const std::string here = path + "/until";
  const json::object& until = *TRY(read_members(*value, here, place, "must have field and is"));
  TRY(all_of({check_fields(until, {"field", "is"}, here, place),
              read_field(input.field, until, here + "/field", place, read_text),
              read_field(input.wanted, until, here + "/is", place, read_text)}));
  return input.field.empty() || input.wanted.empty() ? Result<>(place.error(here, "must have field and is"))
                                                     : Result<>();
}

Result<InputTemplate> read_input(const json::value& value, const std::string& path, const Place& place) {
  const json::object& object = *TRY(read_members(value, path, place, "must have a file"));
  InputTemplate input;
  input.what = "input";
  TRY(all_of({check_fields(object, {"file", "what", "until", "is", "adds"}, path, place),
              read_field(input.file, object, path + "/file", place, read_text),
              read_field(input.what, object, path + "/what", place, read_text),
              check_known_early(input.file, path + "/file", place),
              read_field(input.is_rank_table, object, path + "/is", place, read_fixed_text<"rank table">),
              read_field(input.adds_pod_addresses, object, path + "/adds", place, read_fixed_text<"pod_ip">),
              read_until(input, object, path, place)}));
  if (input.is_rank_table && !input.field.empty()) {
    return place.error(path, "has both 'is' and 'until'");
  }
  if (input.adds_pod_addresses && !input.is_rank_table) {
    return place.error(path, "adds to an input that is not a rank table");
  }
  return input.file.empty() ? Result<InputTemplate>(place.error(path, "needs a file")) : input;
}

}  // namespace

Result<std::vector<std::string>> read_program(const json::value& value, const std::string& path, const Place& place) {
  if (!value.is_array() || value.get_array().empty()) {
    return place.error(path, "must be a list that begins with a program");
  }
  std::vector<std::string> program;
  for (const json::value& item : value.get_array()) {
    const std::string word = item.is_string() ? std::string(item.get_string()) : "";
    if (word == kUsersProgram || word == kMpirunOptions || word == kOtherPrograms || word == kExports) {
      program.push_back(word);
      continue;
    }
    auto text = TRY(read_text(item, path_of(path, std::to_string(program.size())), place));
    program.push_back(std::move(text));
  }
  return program.front().empty()
             ? Result<std::vector<std::string>>(place.error(path, "must be a list that begins with a program"))
             : program;
}

Result<> read_needs(ModeTemplate& mode, const json::object& root, const Place& place) {
  TRY(read_field(mode.services, root, "/services", place, read_texts));
  for (std::size_t i = 0; i < mode.services.size(); ++i) {
    mode.service_places[mode.services[i]] = place.at(path_of("/services", std::to_string(i)));
  }
  mode.inputs = TRY(read_list(root, "inputs", place, read_input));
  const bool is_named = contains(mode.services, kWorkerPortService);
  if (!is_named && use_worker_port(texts_of(mode))) {
    mode.services.emplace_back(kWorkerPortService);
  }
  return {};
}

}  // namespace muster
