#pragma once

// Rules of standbys: which programs can have one, what it imports, and which worker it fits. Pure (docs/standby.md).

#include "base/result.hpp"
#include "options/settings.hpp"
#include "process/spawn.hpp"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::standby {

/// Reads the value of --standby: empty for "off", no names for "auto", else "torch,numpy.linalg".
[[nodiscard]] Result<std::optional<std::vector<std::string>>> read_modules(const Sourced<std::string>& given);

/// A program that Python runs.
struct PythonProgram {
  std::vector<std::string> words;  ///< interpreter and program: those with equal ones import the same
  bool is_module = false;          ///< "-m train"
};

/// The Python program that the command line runs; empty: Python does not run a script or module at once, as with "uv run
/// train.py" and "python3 -c".
std::optional<PythonProgram> find_python_program(const std::vector<std::string>& argv);

/// Words of a program that does nothing, run by the same interpreter with the same options.
std::vector<std::string> harmless_words(const PythonProgram& program);

/// A file or folder that a list of imports depends on.
struct FileState {
  std::string path;
  std::int64_t size = 0;      ///< bytes; of a folder, the number of its entries
  std::int64_t modified = 0;  ///< nanoseconds since 1970; of a folder, a digest of the names of its entries

  bool operator==(const FileState&) const = default;
};

/// Notes that python/standby/sitecustomize.py writes in a worker about the imports of the program.
struct Imports {
  pid_t process = -1;  ///< process whose Python imported sitecustomize.py; -1: none did
  /// The imports in their order. "torch 7:3" is a library, imported at line 3 of file 7 of `files`; "*utils 8" is a
  /// module of the program itself, file 8.
  std::vector<std::string> steps;
  std::string end;               ///< why later modules are not named: "it starts a thread"; empty: all are
  std::vector<FileState> files;  ///< the program's own files, and the folders of libraries
  bool is_loading = false;       ///< the last notes begin the import of a module and do not end it

  /// True if a library is among `steps`.
  bool has_modules() const;
};

/// Most bytes of notes from a worker: a list of five thousand modules, which a socket takes at once.
inline constexpr std::size_t kMostNotes = std::size_t{160} << 10U;

/// Reads the notes, which may be anything: a line that is no name of a module is left out.
Imports read_imports(std::string_view notes);

/// A line of notes.
std::string note_of(const FileState& file);

/// The request of a process whose Python imports sitecustomize.py from this folder, and that has the descriptor
/// `passed`. `what`: its task, "learn", "answer" or "stand_by".
SpawnRequest with_sitecustomize(SpawnRequest request, const std::string& folder, std::string_view what, int passed);

/// The message that tells a standby what to import. `is_paced`: it must sleep in between. `are_given`: the user has
/// named the modules, which may be more than libraries.
std::string imports_message(const Imports& imports, bool is_paced, bool are_given);

/// Why a process that was started as `standing` cannot become the worker `wanted`; empty: it can.
std::string misfit(const SpawnRequest& standing, const SpawnRequest& wanted);

/// The message by which the standby becomes the worker `wanted`: its interpreter, and the variables that differ.
std::string order_message(const SpawnRequest& standing, const SpawnRequest& wanted);

/// Memory of the machine, or of a control group, in bytes.
struct Memory {
  std::uint64_t free = 0;
  std::uint64_t total = 0;
};

/// True if a tenth of the memory is still free after a process of `size` bytes has started.
bool has_room(const Memory& memory, std::uint64_t size);

/// MemAvailable and MemTotal of /proc/meminfo; empty: they are not there.
std::optional<Memory> read_meminfo(std::string_view text);

}  // namespace muster::standby

namespace muster {

/// python/standby/sitecustomize.py, which the Python of a worker or standby imports.
std::string_view standby_module();

}  // namespace muster
