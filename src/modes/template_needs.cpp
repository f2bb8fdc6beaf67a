// Reads what a mode needs beside its processes: services, inputs, programs of roles.
#include "modes/template_needs.hpp"

#include <algorithm>

namespace muster {
namespace {

/// Placeholders with no value before the nodes have met.
std::vector<std::string> deferred_placeholders(const std::set<std::string>& roles) {
  std::vector<std::string> names = placeholder_names();
  std::erase(names, "host_name");
  std::erase(names, "job_id");
  for (const std::string& role : roles) {
    for (const char* const start : {kCountOf, kEndpointsOf}) {
      names.push_back(std::string(start) + ":" + role);
    }
  }
  return names;
}

/// A file is waited for before the nodes have met, so it knows nothing that they tell each other.
Result<> check_known_early(const std::string& text, const std::string& path, const Place& place) {
  for (const std::string& name : deferred_placeholders(place.roles)) {
    if (use_placeholder({text}, name)) {
      return place.error(path, "uses {" + name + "}, which is not known yet when it is waited for");
    }
  }
  return {};
}

/// The one thing that can be added to a rank table.
Result<bool> read_pod_ip(const json::value& value, const std::string& path, const Place& place) {
  const bool is_it = value.is_string() && value.get_string() == "pod_ip";
  return is_it ? Result<bool>(true) : place.error(path, "must be 'pod_ip'");
}

/// {field: status, is: completed}
Result<> read_until(InputTemplate& input,
                    const json::object& object,
                    const std::string& path,
                    const Place& place) {
  const json::value* const value = object.if_contains("until");
  if (value == nullptr) {
    return {};
  }
  const std::string here = path + "/until";
  if (!value->is_object()) {
    return place.error(here, "must have field and is");
  }
  const json::object& until = value->get_object();
  auto read = all_of({check_fields(until, {"field", "is"}, here, place),
                      read_field(input.field, until, here + "/field", place, read_text),
                      read_field(input.wanted, until, here + "/is", place, read_text)});
  if (!read) {
    return read;
  }
  return input.field.empty() || input.wanted.empty()
             ? Result<>(place.error(here, "must have field and is"))
             : Result<>();
}

Result<InputTemplate> read_input(const json::value& value,
                                 const std::string& path,
                                 const Place& place) {
  if (!value.is_object()) {
    return place.error(path, "must have a file");
  }
  const json::object& object = value.get_object();
  InputTemplate input;
  input.what = "input";
  const auto read =
      all_of({check_fields(object, {"file", "what", "until", "is", "adds"}, path, place),
              read_field(input.file, object, path + "/file", place, read_text),
              read_field(input.what, object, path + "/what", place, read_text),
              check_known_early(input.file, path + "/file", place),
              read_field(input.is_rank_table, object, path + "/is", place, read_rank_table),
              read_field(input.adds_pod_addresses, object, path + "/adds", place, read_pod_ip),
              read_until(input, object, path, place)});
  if (!read) {
    return read.error();
  }
  if (input.is_rank_table && !input.field.empty()) {
    return place.error(path, "has both 'is' and 'until'");
  }
  if (input.adds_pod_addresses && !input.is_rank_table) {
    return place.error(path, "adds to what is no rank table");
  }
  return input.file.empty() ? Result<InputTemplate>(place.error(path, "needs a file")) : input;
}

/// One element of a program that becomes several words.
bool stands_for_words(std::string_view text) {
  return text == kUsersProgram || text == kMpirunOptions || text == kOtherPrograms ||
         text == kExports;
}

}  // namespace

Result<std::vector<std::string>> read_program(const json::value& value,
                                              const std::string& path,
                                              const Place& place) {
  if (!value.is_array() || value.get_array().empty()) {
    return place.error(path, "must be a list that begins with a program");
  }
  std::vector<std::string> program;
  for (const json::value& item : value.get_array()) {
    if (item.is_string() && stands_for_words(item.get_string())) {
      program.emplace_back(item.get_string());
      continue;
    }
    auto text = read_text(item, path_of(path, std::to_string(program.size())), place);
    if (!text) {
      return text.error();
    }
    program.push_back(std::move(*text));
  }
  return program.front().empty() ? Result<std::vector<std::string>>(place.error(
                                       path, "must be a list that begins with a program"))
                                 : program;
}

Result<> read_needs(ModeTemplate& mode, const json::object& root, const Place& place) {
  if (auto read = read_field(mode.services, root, "/services", place, read_texts); !read) {
    return read;
  }
  for (std::size_t i = 0; i < mode.services.size(); ++i) {
    mode.service_places[mode.services[i]] = place.at(path_of("/services", std::to_string(i)));
  }
  auto inputs = read_list(root, "inputs", place, read_input);
  if (!inputs) {
    return inputs.error();
  }
  mode.inputs = std::move(*inputs);
  const bool is_named = std::find(mode.services.begin(), mode.services.end(), kWorkerPortService) !=
                        mode.services.end();
  if (!is_named && use_worker_port(texts_of(mode))) {
    mode.services.emplace_back(kWorkerPortService);
  }
  return {};
}

}  // namespace muster
