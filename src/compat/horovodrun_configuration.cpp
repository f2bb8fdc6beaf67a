// Reads the configuration file of horovodrun. Facts: set_args_from_config in
// horovod/runner/common/util/config_parser.py of Horovod 0.28.
#include "compat/horovodrun_configuration.hpp"

#include "compat/tuning.hpp"

#include "base/text.hpp"
#include "base/yaml.hpp"

#include <algorithm>

namespace muster::horovodrun {
namespace {

constexpr const char* kController = "controller";
constexpr const char* kStallCheck = "stall_check";  ///< whose other keys turn the check on

Error no_configuration(const std::string& name) {
  return Error{ErrorKind::BadData,
               name + ": expected keys and values of horovodrun's configuration"};
}

/// As Python has the words of YAML.
bool is_true(const std::string& text) {
  const std::string word = lower_case(text);
  return word != "false" && word != "no" && word != "off" && word != "0" && !word.empty();
}

/// nullptr where horovodrun has no such key.
const Tuning* find_tuning(std::string_view key) {
  const auto rows = tunings();
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const Tuning& tuning) {
    return tuning.key != nullptr && key == tuning.key;
  });
  return at == rows.end() ? nullptr : &*at;
}

struct Reader {
  Translation& t;
  const std::string& name;  ///< of the file

  /// The option, or its contrary, unless a flag has said one of them.
  void take(const Tuning& tuning, const Sourced<std::string>& value) const {
    const bool has_contrary = tuning.off != nullptr;
    if (t.has(tuning.option) || (has_contrary && t.has(tuning.off))) {
      return;
    }
    if (tuning.kind != Kind::Switch) {
      t.given[tuning.option] = value;
      return;
    }
    const bool is_on = is_true(value.value) != tuning.is_off_where_true;
    t.given[is_on ? tuning.option : tuning.off] = {"1", value.source};
  }

  void read_member(const std::string& key, const json::value& value) const {
    const Source source{SourceKind::File, name + " " + key};
    const Tuning* const tuning = find_tuning(key);
    if (tuning == nullptr) {
      t.line.notices.push_back("ignoring " + source.name + ": horovodrun has no such key");
    } else if (const json::string* const text = value.if_string()) {
      take(*tuning, {std::string(*text), source});
    }
  }

  Result<> read_controller(const Sourced<std::string>& value) const {
    const std::string word = lower_case(value.value);
    if (word != "gloo" && word != "mpi") {
      return wrong_value(value, "gloo or mpi");
    }
    if (!t.has("gloo") && !t.has("mpi")) {
      t.given[word] = {"1", value.source};
    }
    return {};
  }

  Result<> read_section(const std::string& key, const json::value& value) const {
    const json::string* const text = value.if_string();
    if (key == kController && text != nullptr) {
      return read_controller({std::string(*text), {SourceKind::File, name + " " + key}});
    }
    const json::object* const members = value.if_object();
    if (members == nullptr) {
      return value.is_null() ? Result<>() : Result<>(no_configuration(name + " " + key));
    }
    for (const auto& [member, its_value] : *members) {
      read_member(key + "." + std::string(member), its_value);
    }
    if (key == kStallCheck && !members->empty() && !members->contains("enabled")) {
      take(*find_tuning("stall_check.enabled"), {"true", {SourceKind::File, name + " " + key}});
    }
    return {};
  }
};

}  // namespace

Result<> take_configuration(Translation& t) {
  const auto file = t.find("config-file");
  if (!file) {
    return {};
  }
  const auto text = t.read_text(file->value);
  if (!text) {
    return wrong_value(*file, "a YAML or JSON file that can be read");
  }
  const auto document = parse_yaml(*text, file->value);
  if (!document) {
    return document.error();
  }
  const json::object* const root = document->root.if_object();
  if (root == nullptr) {
    return no_configuration(file->value);
  }
  const Reader reader{t, file->value};
  for (const auto& [key, value] : *root) {
    if (auto read = reader.read_section(std::string(key), value); !read) {
      return read;
    }
  }
  return {};
}

}  // namespace muster::horovodrun
