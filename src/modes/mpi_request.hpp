#pragma once

// What the user says about the start of MPI's ranks. docs/mpi.md has the ways.

#include "base/result.hpp"
#include "options/settings.hpp"

#include <string>
#include <vector>

namespace muster {

/// The mode whose processes are ranks of MPI.
inline constexpr const char* kMpiMode = "mpirun";

/// Who starts the ranks.
enum class MpiStart {
  Auto,   ///< the first of these that works on all nodes
  Pmix,   ///< muster itself
  Agent,  ///< mpirun, with muster as its remote shell
  Ssh,    ///< mpirun, with sshd on the other nodes
};

/// What mpirun is told where it is started. Muster's own ranks get what that means in another way.
struct MpirunWords {
  /// As they were typed, and the names of variables for the ranks.
  std::vector<std::string> options{};
  std::string processes{};  ///< of the first program; empty: one for each slot
  /// Behind the first program: ":", the options of the next one, and that with its arguments. "{muster}" is a
  /// placeholder.
  std::vector<std::string> programs{};
  bool says_places = false;  ///< they say which slots are filled, so that nobody else does
  /// What only mpirun can do, which rules pmix out: "--tune"; empty: nothing.
  Sourced<std::string> only_mpirun{};
};

struct MpiRequest {
  Sourced<MpiStart> start{MpiStart::Auto, {}};
  MpirunWords mpirun{};
  /// What only ranks have that muster starts itself, which rules out the ways with mpirun; empty: nothing.
  Sourced<std::string> only_pmix{};
};

/// The settings of a front end: options of mpirun, of which muster understands all but the one that the
/// second names, if that is there.
inline constexpr const char* kMpirunWords = "mpirun-words";
inline constexpr const char* kOnlyMpirun = "only-mpirun";

/// What else is in MpirunWords, by its names.
inline constexpr const char* kMpirunProcesses = "mpirun-processes";
inline constexpr const char* kMpirunPrograms = "mpirun-programs";

/// The setting that holds the folder in which the user's program is started, which has to be there.
inline constexpr const char* kProgramFolder = "program-folder";

/// The settings that hold variables for the ranks begin with this: -x NAME=VALUE is "export:NAME".
inline constexpr const char* kExportPrefix = "export:";

/// The ways that may be taken, in this order: each but the first where those before do not work on all nodes.
[[nodiscard]] std::vector<MpiStart> ways_of(const MpiRequest& request);

/// "pmix", as `--mpi-start` takes it.
[[nodiscard]] const char* name_of(MpiStart start);

/// Its built-in template.
[[nodiscard]] const char* template_of(MpiStart way);

/// Reads --mpi-start and the options for mpirun. Fails for a way that is none.
[[nodiscard]] Result<MpiRequest> read_mpi_request(const Settings& settings);

/// What only mpirun understands leaves the ways with mpirun, and what only muster does leaves pmix. Fails where
/// that is none, or not the one that was asked for.
[[nodiscard]] Result<> check_way(const MpiRequest& request);

/// Fails where a flag says how ranks of MPI start, and the mode is another one.
[[nodiscard]] Result<> check_no_mpi(const MpiRequest& request, const std::string& mode);

}  // namespace muster
