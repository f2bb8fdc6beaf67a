#pragma once

// Describes the user's choices for starting MPI ranks. docs/mpi.md has the methods.

#include "base/result.hpp"
#include "options/settings.hpp"

#include <string>
#include <vector>

namespace muster {

/// The mode whose processes are ranks of MPI.
inline constexpr const char* kMpiMode = "mpirun";

/// Start method of the ranks.
enum class MpiStart {
  Auto,   ///< the first of the following that works on all nodes
  Pmix,   ///< muster starts them itself
  Agent,  ///< mpirun, with muster as its remote shell
  Ssh,    ///< mpirun, with sshd on the other nodes
};

/// Arguments for mpirun. If muster starts the ranks itself, it does what these arguments mean.
struct MpirunWords {
  /// The options as typed, and the names of variables for the ranks.
  std::vector<std::string> options{};
  std::string processes{};  ///< number for the first program; empty: one for each slot
  /// The words behind the first program: ":", the options of the next program, the program and its arguments.
  /// "{muster}" is a placeholder.
  std::vector<std::string> programs{};
  bool sets_places = false;  ///< the options decide which slots are filled, so muster must not
  /// An option that only mpirun supports, such as "--tune", and that excludes pmix; empty: none.
  Sourced<std::string> only_mpirun{};
};

struct MpiRequest {
  Sourced<MpiStart> start{MpiStart::Auto, {}};
  MpirunWords mpirun{};
  /// An option that only works for ranks started by muster, and that excludes the methods with mpirun; empty: none.
  Sourced<std::string> only_pmix{};
};

/// Settings from a translated mpirun command line: all of its options; and the option, if any, that needs mpirun
/// itself.
inline constexpr const char* kMpirunWords = "mpirun-words";
inline constexpr const char* kOnlyMpirun = "only-mpirun";

/// Settings for the fields of the same names in MpirunWords.
inline constexpr const char* kMpirunProcesses = "mpirun-processes";
inline constexpr const char* kMpirunPrograms = "mpirun-programs";

/// Setting with the directory in which the user's program starts; it must exist.
inline constexpr const char* kProgramFolder = "program-folder";

/// Prefix of the settings with variables for the ranks: -x NAME=VALUE is "export:NAME".
inline constexpr const char* kExportPrefix = "export:";

/// The start methods to try, in this order: each is used where the previous ones do not work on all nodes.
std::vector<MpiStart> methods_of(const MpiRequest& request);

/// "pmix", as `--mpi-start` takes it.
const char* name_of(MpiStart start);

/// The built-in template of a start method.
const char* template_of(MpiStart method);

/// Reads --mpi-start and the options for mpirun. Fails for an unknown start method.
[[nodiscard]] Result<MpiRequest> read_mpi_request(const Settings& settings);

/// Fails if the options leave no start method, or exclude the requested one: some options work only with mpirun,
/// others only with pmix.
[[nodiscard]] Result<> check_method(const MpiRequest& request);

/// Fails where a flag chooses the start method of MPI ranks in another mode.
[[nodiscard]] Result<> check_no_mpi(const MpiRequest& request, const std::string& mode);

}  // namespace muster
