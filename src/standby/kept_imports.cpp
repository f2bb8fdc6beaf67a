// Reads and writes the files of notes, as texts: a header with kind, version and key, then the notes.
#include "standby/kept_imports.hpp"

#include "base/encoding.hpp"

#include <algorithm>

namespace muster::standby {
namespace {

std::string header_of(std::string_view kind, const std::string& key) {
  return "muster " + std::string(kind) + " 1\n" + std::to_string(key.size()) + "\n" + key + "\n";
}

}  // namespace

std::string kept_key(const PythonProgram& program, const SpawnRequest& request, const std::string& folder) {
  std::string key = request.executable + '\0' + folder + '\0';
  for (const std::string& word : program.words) {
    key += word + '\0';
  }
  std::vector<std::string> variables;
  std::ranges::copy_if(request.environment, std::back_inserter(variables),
                       [](const std::string& entry) { return entry.starts_with("PYTHON"); });
  std::ranges::sort(variables);
  for (const std::string& entry : variables) {
    key += entry + '\0';
  }
  return key;
}

std::string kept_path(const std::map<std::string, std::string>& variables, std::string_view kind,
                      const std::string& key) {
  const auto value_of = [&variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() || !found->second.starts_with('/') ? std::string() : found->second;
  };
  const std::string home = value_of("HOME");
  const std::string cache = value_of("XDG_CACHE_HOME");
  const std::string place = !cache.empty() ? cache : home.empty() ? "" : home + "/.cache";
  return place.empty() ? "" : place + "/muster/" + std::string(kind) + "/" + digest_of(key);
}

std::string write_kept(std::string_view kind, const std::string& key, std::string_view notes) {
  return header_of(kind, key).append(notes);
}

std::string_view read_kept(std::string_view kind, std::string_view content, const std::string& key) {
  const std::string header = header_of(kind, key);
  return content.starts_with(header) ? content.substr(header.size()) : std::string_view();
}

}  // namespace muster::standby
