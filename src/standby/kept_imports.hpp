#pragma once

// The imports of a program, kept for later jobs: a text file in the user's cache folder. Pure (docs/standby.md).

#include "process/spawn.hpp"
#include "standby/standby_rules.hpp"

#include <map>
#include <string>
#include <string_view>

namespace muster::standby {

/// Everything that decides which modules the program finds: equal texts have one file.
[[nodiscard]] std::string kept_key(const PythonProgram& program, const SpawnRequest& request,
                                   const std::string& folder);

/// "/home/ann/.cache/muster/imports/0123456789abcdef"; empty: the variables name no home folder.
[[nodiscard]] std::string kept_path(const std::map<std::string, std::string>& variables, const std::string& key);

/// The content of the file.
[[nodiscard]] std::string write_kept(const std::string& key, std::string_view notes);

/// The notes in it; empty: they are of another program, or written by another version.
[[nodiscard]] std::string_view read_kept(std::string_view content, const std::string& key);

}  // namespace muster::standby
