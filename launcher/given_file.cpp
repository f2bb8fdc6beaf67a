// Reads the files that options name.
#include "requests.hpp"

#include "rank_table/topology.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace muster {

std::optional<std::string> read_regular_file(const std::string& path) {
  std::error_code ignored;  // what cannot be looked at cannot be read either
  if (!std::filesystem::is_regular_file(path, ignored)) {  // a pipe could keep us for ever
    return std::nullopt;
  }
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? std::optional(text.str()) : std::nullopt;
}

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
  const auto text =
      known != snapshot.files.end()
          ? Result<std::string>(known->second)
          : read_given_file(*setting, "a file with a line for each node that can be read");
  if (!text) {
    return text.error();
  }
  auto switches = rank_table::read_switches(*text, setting->value);
  if (!switches) {
    return switches.error();
  }
  job.network =
      Sourced<rank_table::NetworkFile>{{setting->value, std::move(*switches)}, setting->source};
  return {};
}

}  // namespace muster
