#pragma once

// Reads command lines as the program reads them, from one text for each.

#include "base/text.hpp"
#include "compat/compat_launcher.hpp"
#include "requests.hpp"

#include <map>
#include <string>
#include <vector>

namespace muster {

using Variables = std::map<std::string, std::string>;

inline Snapshot snapshot_of(Variables variables) {
  Snapshot snapshot;
  snapshot.variables = std::move(variables);
  snapshot.host_name = "node-a";
  snapshot.working_directory = "/home/user/job";
  snapshot.cores = {8, "affinity"};
  return snapshot;
}

inline std::optional<std::string> no_files(const std::string& /*path*/) {
  return std::nullopt;
}

/// The words of `text` are argv, argv[0] included.
inline Result<CommandLine> read_line(const std::string& text, const Snapshot& snapshot,
                                     const ReadText& read_text = no_files) {
  std::vector<std::string> tokens;
  for (std::string& word : split(text, ' ')) {
    if (!word.empty()) {
      tokens.push_back(std::move(word));
    }
  }
  std::vector<char*> argv;
  for (std::string& token : tokens) {
    argv.push_back(token.data());
  }
  return read_command_line(argv, snapshot, read_text);
}

inline Result<CommandLine> read_line(const std::string& text, Variables variables = {}) {
  return read_line(text, snapshot_of(std::move(variables)));
}

/// "64: message", or "no error".
inline std::string error_of(const std::string& text, Variables variables = {}) {
  const auto line = read_line(text, std::move(variables));
  return line ? "no error" : std::to_string(line.error().exit_code()) + ": " + line.error().message;
}

/// "name=value (source)" for each setting, in the order of their names, joined by "; ". Without what each line of torchrun's says:
/// that all of its restarts are wanted, that nodes may join at once, that its workers share standard input, and how its log
/// files lie.
inline std::string settings_of(const std::string& text, Variables variables = {}) {
  const auto line = read_line(text, std::move(variables));
  if (!line) {
    return line.error().message;
  }
  std::vector<std::string> found;
  line->settings.for_each([&](const std::string& name, const Sourced<std::string>& value) {
    const bool is_shared_input = name == "stdin" && value.value == "all";
    const bool is_always_there = name == "no-progress-limit" || name == "scale-up" || name == "store" ||
                                 name == "prefix" || name == kLogLayout || is_shared_input;
    if (!is_always_there || value.source.kind != SourceKind::Default) {
      found.push_back(name + "=" + value.value + " (" + value.source.name + ")");
    }
  });
  return join(found, "; ");
}

/// One setting as "value (source)"; empty if nobody has set it.
inline std::string setting_of(const std::string& text, const std::string& name, Variables variables = {}) {
  const auto line = read_line(text, std::move(variables));
  if (!line) {
    return line.error().message;
  }
  const auto setting = line->settings.find(name);
  return setting ? setting->value + " (" + setting->source.name + ")" : "";
}

inline std::string program_of(const std::string& text, Variables variables = {}) {
  const auto line = read_line(text, std::move(variables));
  return line ? join(line->program, " ") : line.error().message;
}

inline std::string notices_of(const std::string& text, Variables variables = {}) {
  const auto line = read_line(text, std::move(variables));
  return line ? join(line->notices, "; ") : line.error().message;
}

}  // namespace muster
