// Decides how the workers are started: the user's template, a mode by name, or the default.
#include "base/file_io.hpp"
#include "base/lists.hpp"
#include "base/text.hpp"
#include "environment/accelerators.hpp"
#include "modes/mode_template.hpp"
#include "modes/read_template.hpp"
#include "platforms/request.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace muster {
namespace {

YamlDocument document_of(const BuiltinTemplate& builtin) {
  return {json::parse(json::string_view(builtin.json.data(), builtin.json.size())), {}};
}

Result<ChosenMode> read_template_file(const Sourced<std::string>& path) {
  if (path.value.empty()) {
    return wrong_value(path, "a file");
  }
  const auto text = read_regular_file(path.value);
  if (!text) {
    return Error{ErrorKind::BadData,
                 path.source.name + " is '" + path.value + "', expected a template that can be read"};
  }
  auto document = TRY(parse_yaml(*text, path.value));
  const auto expanded = TRY(expand_template({std::move(document), path.value}, builtin_documents()));
  auto mode = TRY(read_template(expanded, path.value));
  return ChosenMode{std::move(mode), path.source};
}

/// Finds the variable that describes TensorFlow tasks, of which each agent is one. An unreadable TF_CONFIG counts:
/// reading the cluster will report its error.
std::optional<Source> find_tasks(const Snapshot& snapshot) {
  if (!snapshot.variable("TF_PS_HOSTS").value_or("").empty()) {
    return from_variable("TF_PS_HOSTS");
  }
  const std::string text = snapshot.variable("TF_CONFIG").value_or("");
  if (text.empty()) {
    return std::nullopt;
  }
  boost::system::error_code error;
  const json::value config = json::parse(text, error);
  if (error || !config.is_object()) {
    return from_variable("TF_CONFIG");
  }
  const auto* const cluster = config.get_object().if_contains("cluster");
  if (cluster == nullptr) {
    return std::nullopt;  // TensorFlow's notation for "no cluster"
  }
  const bool has_tasks = !cluster->is_object() || !cluster->get_object().empty();
  return has_tasks ? std::optional(from_variable("TF_CONFIG")) : std::nullopt;
}

/// Finds the variable that announces a rank table, on a node with Ascend devices: one that names it, or one of
/// ModelArts, where these devices usually have a rank table.
std::optional<Source> find_rank_table(const Snapshot& snapshot) {
  if (!has_ascend_devices(snapshot)) {
    return std::nullopt;
  }
  for (const char* const name : {"RANK_TABLE_FILE_V_1_0", "RANK_TABLE_FILE", "MA_NUM_HOSTS", "MA_VJ_NAME"}) {
    if (!snapshot.variable(name).value_or("").empty()) {
      return from_variable(name + std::string(" and Ascend devices"));
    }
  }
  return std::nullopt;
}

/// Finds the variable by which the processes meet without the rank table, although there is one.
std::optional<Source> find_torch(const Snapshot& snapshot) {
  for (const char* const name : {"RANK_ID", "OMPI_COMM_WORLD_RANK"}) {
    if (snapshot.has(name)) {  // started once per device, by ModelArts' own boot code or by mpirun
      return from_variable(name);
    }
  }
  if (snapshot.has("PET_NNODES")) {  // set for torchrun
    return from_variable("PET_NNODES");
  }
  if (snapshot.has("MASTER_ADDR") && snapshot.has("WORLD_SIZE")) {  // read by torch
    return from_variable("MASTER_ADDR and WORLD_SIZE");
  }
  return std::nullopt;
}

/// Detects the mode from the environment, where no mode is named.
Result<Sourced<std::string>> detect_mode(const Snapshot& snapshot, const Source& otherwise) {
  const auto wanted = TRY(mode_of_run_method(snapshot));
  if (wanted) {
    return *wanted;
  }
  if (const auto sign = find_tasks(snapshot)) {
    return Sourced<std::string>{"ps", *sign};
  }
  if (const auto sign = find_mindspore_pod(snapshot)) {
    return Sourced<std::string>{"msrun", *sign};
  }
  if (const auto sign = find_rank_table(snapshot)) {
    const auto torch = find_torch(snapshot);
    return torch ? Sourced<std::string>{"torchrun", *torch} : Sourced<std::string>{"ranktable", *sign};
  }
  return Sourced<std::string>{"torchrun", otherwise};
}

/// The built-in template of a mode, or of one start method of that mode; empty: there is none.
Result<std::optional<ChosenMode>> read_builtin_of(const Sourced<std::string>& wanted, std::string_view template_name) {
  for (const BuiltinTemplate& builtin : builtin_templates()) {
    if (builtin.mode == wanted.value && (template_name.empty() || builtin.name == template_name)) {
      return std::optional(ChosenMode{TRY(read_template(document_of(builtin), builtin.name)), wanted.source});
    }
  }
  return std::optional<ChosenMode>();
}

/// Reads the built-in template of a start method for MPI ranks; each method has its own.
Result<ChosenMode> read_method(const Source& source, const MpiRequest& mpi, MpiStart method) {
  auto one = TRY(read_builtin_of({kMpiMode, source}, template_of(method)));
  ChosenMode chosen = one.value();  // every method has a template
  chosen.method = method;
  chosen.mpirun = mpi.mpirun;
  return chosen;
}

/// Modes that other versions had, with what to use instead.
constexpr std::array<std::pair<std::string_view, const char*>, 2> kFormerModes = {
    {{"horovod", "mpirun: muster starts Horovod's ranks as ranks of MPI"},
     {"oneflow", "torchrun, which sets the same variables, or --template with the example of docs/modes.md"}}};

Result<ChosenMode> find_builtin(const Sourced<std::string>& wanted, const MpiRequest& mpi) {
  if (wanted.value == kMpiMode) {
    TRY(check_method(mpi));
    return read_method(wanted.source, mpi, methods_of(mpi).front());
  }
  TRY(check_no_mpi(mpi, wanted.value));
  auto builtin = TRY(read_builtin_of(wanted, ""));
  if (builtin) {
    return std::move(*builtin);
  }
  for (const auto& [former, instead] : kFormerModes) {
    if (wanted.value == former) {
      return wrong_value(wanted, instead);
    }
  }
  const std::vector<std::string> names = mode_names();
  return wrong_value(wanted, "auto or one of " + join(names, ", ") + did_you_mean(wanted.value, names));
}

Result<ChosenMode> find_mode(const ModeRequest& request, const Snapshot& snapshot) {
  const auto& name = request.name;
  const auto& file = request.template_file;
  const bool is_named = name && name->value != "auto";
  // Both are flags or both are variables: a flag removes the variable of the other option.
  if (file && is_named) {
    return Error{error_kind(file->source), file->source.name + " is '" + file->value + "' but " + name->source.name +
                                               " is '" + name->value +
                                               "': both say how workers are started; leave one of them out"};
  }
  if (file) {
    auto chosen = read_template_file(*file);
    TRY(chosen ? check_no_mpi(request.mpi, chosen->mode.name) : Result<>());
    return chosen;
  }
  if (is_named) {
    return find_builtin(*name, request.mpi);
  }
  return find_builtin(TRY(detect_mode(snapshot, name ? name->source : Source())), request.mpi);
}

bool is_integer(std::string_view text) {
  text.remove_prefix(text.starts_with('-') ? 1 : 0);
  return parse_integer(text, 0, std::numeric_limits<int>::max()).has_value();
}

/// The value of a parameter that is not given: from its variables, else the template's default.
Sourced<std::string> find_parameter(const Parameter& parameter, const Snapshot& snapshot) {
  for (const std::string& name : parameter.variables) {
    const auto value = sourced_variable(snapshot, name);
    if (value && !value->value.empty()) {
      return *value;
    }
  }
  const auto table = parameter.finds_rank_table ? find_table_file(snapshot) : std::nullopt;
  return table.value_or(Sourced<std::string>{parameter.otherwise, {}});
}

/// Sets each parameter: the user's value, else `find_parameter`'s.
Result<> read_parameters(ChosenMode& chosen, const Parameters& given, const Snapshot& snapshot) {
  for (const Parameter& parameter : chosen.mode.parameters) {
    const auto value = given.find(parameter.name);
    if (value == given.end()) {
      chosen.parameters[parameter.name] = find_parameter(parameter, snapshot);
      continue;
    }
    chosen.parameters[parameter.name] = value->second;
    if (parameter.is_integer && !is_integer(value->second.value)) {
      const Source& source = value->second.source;
      const bool is_set = source.name == "--set" || source.name == "MUSTER_SET";
      return wrong_value({value->second.value, part_of(source, is_set ? " " + parameter.name : "")},
                         "an integer such as 600");
    }
  }
  return {};
}

/// Fails for a given parameter that none of the templates has.
Result<> check_parameters(const ChosenMode& chosen, const std::vector<ChosenMode>& others, const Parameters& given) {
  std::vector<std::string> names = mapped(chosen.mode.parameters, &Parameter::name);
  for (const ChosenMode& other : others) {
    for (const Parameter& parameter : other.mode.parameters) {
      if (!contains(names, parameter.name)) {
        names.push_back(parameter.name);
      }
    }
  }
  for (const auto& [name, value] : given) {
    if (!contains(names, name)) {
      return Error{error_kind(value.source),
                   value.source.name + " gives '" + name + "', but the mode '" + chosen.mode.name +
                       (names.empty() ? "' has no parameters" : "' has only " + join(names, ", "))};
    }
  }
  return {};
}

}  // namespace

ModeRequest read_mode_request(const Settings& settings) {
  ModeRequest request{settings.find("mode"), settings.find("template"), {}, {}};
  for (auto& [name, value] : settings.starting_with(kParameterPrefix)) {
    request.parameters[name.substr(std::string_view(kParameterPrefix).size())] = value;
  }
  return request;
}

Result<ChosenMode> choose_mode(const ModeRequest& request, const Snapshot& snapshot) {
  auto chosen = TRY(find_mode(request, snapshot));
  TRY(read_parameters(chosen, request.parameters, snapshot));
  TRY(check_parameters(chosen, TRY(other_start_methods(request, chosen, snapshot)), request.parameters));
  return chosen;
}

Result<std::vector<ChosenMode>> other_start_methods(const ModeRequest& request, const ChosenMode& chosen,
                                                    const Snapshot& snapshot) {
  std::vector<ChosenMode> others;
  if (!chosen.method) {
    return others;
  }
  const std::vector<MpiStart> methods = methods_of(request.mpi);
  for (std::size_t i = 1; i < methods.size(); ++i) {
    auto other = read_method(chosen.source, request.mpi, methods[i]);
    TRY(other ? read_parameters(*other, request.parameters, snapshot) : Result<>(other.error()));
    others.push_back(std::move(*other));
  }
  return others;
}

bool needs_token(const ChosenMode& chosen) {
  return chosen.method == MpiStart::Agent ||  // a key given by the user is another shared secret
         (chosen.method == MpiStart::Ssh && chosen.parameters.at("ssh_key").value.empty());
}

Templates builtin_documents() {
  Templates documents;
  for (const BuiltinTemplate& builtin : builtin_templates()) {
    const std::string name(builtin.name);
    documents[name] = {document_of(builtin), name};
  }
  return documents;
}

std::vector<std::string> mode_names() {
  std::vector<std::string> names;
  for (const BuiltinTemplate& builtin : builtin_templates()) {
    if (!contains(names, builtin.mode)) {
      names.emplace_back(builtin.mode);
    }
  }
  return names;
}

}  // namespace muster
