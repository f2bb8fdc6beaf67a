#pragma once

// Keeps notes about a program for later jobs, as text files in the user's cache folder. Pure (docs/standby.md, docs/first-step.md).

#include "process/spawn.hpp"
#include "standby/standby_rules.hpp"

#include <map>
#include <string>
#include <string_view>

namespace muster::standby {

/// Everything that decides which modules the program finds: equal texts have one file.
std::string kept_key(const PythonProgram& program, const SpawnRequest& request, const std::string& folder);

/// The kinds of notes: the imports of a program, and the files of libraries that it uses.
inline constexpr std::string_view kImports = "imports";
inline constexpr std::string_view kLibraryFiles = "files";

/// "/home/ann/.cache/muster/imports/0123456789abcdef"; empty: the variables name no home folder.
std::string kept_path(const std::map<std::string, std::string>& variables, std::string_view kind,
                      const std::string& key);

/// The content of the file.
std::string write_kept(std::string_view kind, const std::string& key, std::string_view notes);

/// The notes in it; empty: they are of another program or kind, or written by another version.
std::string_view read_kept(std::string_view kind, std::string_view content, const std::string& key);

}  // namespace muster::standby
