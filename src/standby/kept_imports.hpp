#pragma once

// Keeps notes about a Python program for later jobs, as text files in the user's cache folder: its imports, for
// standbys, and its library files, for reading ahead. Pure (docs/standby.md, docs/first-step.md).

#include "process/spawn.hpp"
#include "standby/standby_rules.hpp"

#include <map>
#include <string>
#include <string_view>

namespace muster::standby {

/// The key of a program: everything that decides which modules it finds. Programs with equal keys share one file.
std::string kept_key(const PythonProgram& program, const SpawnRequest& request, const std::string& folder);

/// The kinds of notes: the imports of a program, and the files of libraries that it uses.
inline constexpr std::string_view kImports = "imports";
inline constexpr std::string_view kLibraryFiles = "files";

/// The file of a key, "/home/ann/.cache/muster/imports/0123456789abcdef"; empty: the variables name no home folder.
std::string kept_path(const std::map<std::string, std::string>& variables, std::string_view kind,
                      const std::string& key);

/// The content of a file with these notes.
std::string write_kept(std::string_view kind, const std::string& key, std::string_view notes);

/// The notes in a file's content; empty: they are of another program or kind, or from another version of muster.
std::string_view read_kept(std::string_view kind, std::string_view content, const std::string& key);

}  // namespace muster::standby
