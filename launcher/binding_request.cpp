// Reads --numa-binding, --bind-core and --bind-numa (in torchrun's and msrun's forms), the options of rank tables,
// and files that options name. Source: mindspore/parallel/cluster/run.py and process_entity/_bind.py.
#include "base/json.hpp"
#include "base/text.hpp"
#include "rank_table/generate.hpp"
#include "rank_table/topology.hpp"
#include "requests.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

namespace muster {
namespace {

using Setting = Sourced<std::string>;

/// Value of an msrun option: off, on, or a JSON object.
struct Given {
  bool is_on = false;
  json::object places;  ///< empty: the option is only switched on
  std::string file;     ///< file from which the object was read
  Setting setting;
};

Result<Given> read_given(const Settings& settings, std::string_view name) {
  Given given;
  const auto setting = settings.find(name);
  const std::string word = setting ? lower_case(setting->value) : "false";
  if (word == "false") {
    return given;
  }
  given.is_on = true;
  given.setting = *setting;
  if (word == "true") {
    return given;
  }
  std::string text = setting->value;
  if (word.ends_with(".json")) {
    text = TRY(read_given_file(*setting, "a JSON file that can be read"));
    given.file = std::filesystem::absolute(setting->value).lexically_normal();
  }
  boost::system::error_code error;
  const json::value document = json::parse(without_byte_order_mark(text), error);
  if (error || !document.is_object() || document.as_object().empty()) {
    return wrong_value(*setting, "True, False, a JSON object such as {\"device0\":[\"0-9\"]}, or a file .json" +
                                     describe_json_mistake(text));
  }
  given.places = document.as_object();
  return given;
}

/// Numbers from a list of texts such as ["0-3", "8,9"], from one text, or a single number.
std::optional<std::vector<int>> numbers_of(const json::value& value) {
  std::vector<std::string> pieces;
  const json::array alone = {value};
  for (const json::value& piece : value.is_array() ? value.as_array() : alone) {
    if (piece.is_int64()) {
      pieces.push_back(std::to_string(piece.as_int64()));
    } else if (piece.is_string()) {
      pieces.emplace_back(piece.as_string());
    } else {
      return std::nullopt;
    }
  }
  return parse_ranges(join(pieces, ","));
}

constexpr const char* kScheduler = "scheduler";

/// The place for a key: "device3", "device_3" or "scheduler"; nullptr for any other key.
GivenPlace* place_of(BindingRequest& request, std::string_view key) {
  if (key == kScheduler) {
    return &request.roles[kScheduler];
  }
  if (!key.starts_with("device")) {
    return nullptr;
  }
  key.remove_prefix(std::string_view("device").size());
  key.remove_prefix(key.starts_with('_') ? 1 : 0);
  const auto number = parse_integer(key, 0, 65'535);
  return number ? &request.devices[*number] : nullptr;
}

/// Reads an object that gives CPU or NUMA node numbers for each device, such as {"0": [0, 1]}, into the given fields of
/// each device's place.
Result<> read_places(BindingRequest& request, const Setting& setting, const json::object& places,
                     const std::vector<std::vector<int> GivenPlace::*>& fields) {
  for (const auto& [key, value] : places) {
    GivenPlace* const place = place_of(request, key);
    if (place == nullptr) {
      return wrong_value({std::string(key), part_of(setting.source, " key")}, "device<number> or scheduler");
    }
    if (value.is_null()) {
      continue;  // null leaves the device alone
    }
    const auto numbers = numbers_of(value);
    if (!numbers) {
      return wrong_value({json::serialize(value), part_of(setting.source, " " + std::string(key))},
                         "a list such as [\"0-9\", \"12,13\"]");
    }
    for (auto GivenPlace::*const field : fields) {
      place->*field = *numbers;
    }
  }
  return {};
}

bool is_configuration(const json::object& object) {
  constexpr std::array kKeys = {"bind_config", "bind_cpu", "bind_memory"};
  return std::ranges::any_of(kKeys, [&](const char* key) { return object.contains(key); });
}

/// "cpu", "numa" or "none", in lower case.
std::string mode_of(const json::object& configuration, const char* name) {
  const json::value* const config = configuration.if_contains("bind_config");
  const json::value* const mode =
      config != nullptr && config->is_object() ? config->as_object().if_contains(name) : nullptr;
  return mode != nullptr && mode->is_string() ? lower_case(std::string(mode->as_string())) : "none";
}

json::object object_of(const json::object& configuration, const char* name) {
  const json::value* const value = configuration.if_contains(name);
  return value != nullptr && value->is_object() ? value->as_object() : json::object();
}

/// Of the CPUs given for each process, those of the thread "main": MindSpore's other threads bind themselves.
json::object main_cpus_of(const json::object& places) {
  json::object cpus;
  for (const auto& [key, value] : places) {
    const json::value* const main = value.is_object() ? value.as_object().if_contains("main") : nullptr;
    cpus[key] = main != nullptr ? *main : json::value();
  }
  return cpus;
}

Result<> read_configuration(BindingRequest& request, const Given& numa) {
  const std::string cpus = mode_of(numa.places, "bind_cpu_mode");
  const std::string memory = mode_of(numa.places, "bind_memory_mode");
  if (cpus != "cpu" && cpus != "numa" && cpus != "none") {
    return wrong_value({cpus, part_of(numa.setting.source, " bind_cpu_mode")}, "cpu, numa or none");
  }
  if (memory != "numa" && memory != "none") {
    return wrong_value({memory, part_of(numa.setting.source, " bind_memory_mode")}, "numa or none");
  }
  const json::object places = object_of(numa.places, "bind_cpu");
  if (cpus != "none") {
    const bool is_by_cpu = cpus == "cpu";
    TRY(read_places(request, numa.setting, is_by_cpu ? main_cpus_of(places) : places,
                    {is_by_cpu ? &GivenPlace::cpus : &GivenPlace::cpu_nodes}));
  }
  if (memory == "numa") {
    return read_places(request, numa.setting, object_of(numa.places, "bind_memory"), {&GivenPlace::memory_nodes});
  }
  return {};
}

Result<> read_core(BindingRequest& request, const Given& core) {
  if (!core.is_on) {
    return {};
  }
  if (core.places.empty()) {
    request.form = NumaForm::Exclusive;
    return {};
  }
  if (is_configuration(core.places)) {
    return wrong_value(core.setting, "an object by device; one with bind_config is for --bind-numa");
  }
  return read_places(request, core.setting, core.places, {&GivenPlace::cpus});
}

Result<> read_numa(BindingRequest& request, const Given& numa, const Given& core) {
  if (!numa.is_on) {
    return {};
  }
  if (numa.places.empty()) {
    request.form = request.form.value_or(NumaForm::Node);
    request.binds_memory = true;
    return {};
  }
  if (is_configuration(numa.places)) {
    if (core.is_on) {
      return wrong_value(core.setting, "False together with the configuration of --bind-numa");
    }
    return read_configuration(request, numa);
  }
  // As with msrun, --bind-core decides about the CPUs if it is on.
  return core.is_on
             ? read_places(request, numa.setting, numa.places, {&GivenPlace::memory_nodes})
             : read_places(request, numa.setting, numa.places, {&GivenPlace::cpu_nodes, &GivenPlace::memory_nodes});
}

Result<BindingOptions> read_msrun(const Given& core, const Given& numa) {
  BindingOptions options{.request = {}, .is_msruns = true, .bind_file = {}};
  BindingRequest& request = options.request;
  request.source = core.is_on && numa.is_on ? part_of(core.setting.source, " and " + numa.setting.source.name)
                   : core.is_on             ? core.setting.source
                                            : numa.setting.source;
  TRY(read_core(request, core));
  const std::size_t devices = request.devices.size();
  TRY(read_numa(request, numa, core));
  if (!core.places.empty() && !numa.places.empty() && request.devices.size() != devices) {
    return wrong_value(numa.setting, "the devices that " + core.setting.source.name + " names");
  }
  if (!numa.file.empty() && is_configuration(numa.places)) {
    options.bind_file = numa.file;
  }
  return options;
}

}  // namespace

BindingRequest binding_request(const BindingOptions& options, std::string_view mode) {
  BindingRequest request = options.request;
  if (options.is_msruns && mode == "msrun") {
    request.cpu_list_variable = "MSRUN_CPU_LIST";  // read by mindspore.runtime.set_cpu_affinity
    if (!options.bind_file.empty()) {
      request.variables["MSRUN_BIND_FILE"] = options.bind_file;
    }
  }
  return request;
}

Result<std::optional<BindingOptions>> read_binding_options(const Settings& settings) {
  const auto core = TRY(read_given(settings, "bind-core"));
  const auto numa = TRY(read_given(settings, "bind-numa"));
  const auto form = settings.find("numa-binding");
  if (!form && !core.is_on && !numa.is_on) {
    return std::optional<BindingOptions>();
  }
  if (!form) {
    return std::optional(TRY(read_msrun(core, numa)));
  }
  if (core.is_on || numa.is_on) {
    return wrong_value(core.is_on ? core.setting : numa.setting,
                       "False together with " + form->source.name + ", which binds the workers already");
  }
  const auto read = TRY((read_word<"node, socket, exclusive or core-complex", NumaForm::Node, NumaForm::Socket,
                                   NumaForm::Exclusive, NumaForm::CoreComplex>(*form)));
  BindingOptions options;
  options.request.source = form->source;
  options.request.form = read;
  return std::optional(std::move(options));
}

// Reads the path of the rank table, or the request to have the nodes generate one.

namespace {

constexpr const char* kParameter = "rank_table_file";
constexpr const char* kExpected = "a file such as /etc/hccn.conf that can be read";

/// Reads the device addresses from the file of --hccn-conf, else from the driver's file if it exists.
Result<> read_addresses(rank_table::GenerateRequest& request, const Settings& settings, const Snapshot& snapshot) {
  const auto setting = settings.find("hccn-conf");
  const std::string path = setting ? setting->value : rank_table::kHccnFile;
  const auto known = snapshot.files.find(path);
  const bool is_known = known != snapshot.files.end();
  if (!is_known && !setting) {
    return {};
  }
  request.text = TRY(is_known ? Result<std::string>(known->second) : read_given_file(*setting, kExpected));
  request.file = setting.value_or(Sourced<std::string>{path, {SourceKind::File, path}});
  return {};
}

}  // namespace

Result<> read_rank_table(Options& options, const Settings& settings, const Snapshot& snapshot) {
  const auto setting = settings.find("rank-table");
  if (setting && setting->value.empty()) {
    return wrong_value(*setting, "a file, a folder, or generate");
  }
  if (setting && setting->value == "generate") {
    options.job.generates.wanted = setting->source;
  } else if (setting) {
    options.mode.parameters.insert_or_assign(kParameter, *setting);
  }
  return read_addresses(options.job.generates, settings, snapshot);
}

// Reads the files that options name.

Result<std::string> read_given_file(const Sourced<std::string>& setting, const char* expected) {
  auto text = read_regular_file(setting.value);
  return text ? Result<std::string>(std::move(*text)) : wrong_value(setting, expected);
}

Result<> read_network(JobRequest& job, const Settings& settings, const Snapshot& snapshot) {
  const auto setting = settings.find("topology");
  if (!setting) {
    return {};
  }
  const auto known = snapshot.files.find(setting->value);
  const auto text = TRY(known != snapshot.files.end()
                            ? Result<std::string>(known->second)
                            : read_given_file(*setting, "a file with a line for each node that can be read"));
  auto switches = TRY(rank_table::read_switches(text, setting->value));
  job.network = Sourced<rank_table::NetworkFile>{{setting->value, std::move(switches)}, setting->source};
  return {};
}

}  // namespace muster
