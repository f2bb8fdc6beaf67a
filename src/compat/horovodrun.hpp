#pragma once

// The file of horovodrun's --config-file.

#include "compat/compat_launcher.hpp"

namespace muster::horovodrun {

/// What the file says and no flag does is given as if its option were. Nothing where no file is named. Fails for one that
/// cannot be read.
[[nodiscard]] Result<> take_configuration(Translation& t);

// A line of horovodrun with --mpi.

/// What mpirun would be told, as muster's front end of mpirun understands it; `mpi` is what asked for that. Fails for options that
/// mpirun has not.
[[nodiscard]] Result<> translate_mpi(Translation& t, const Sourced<std::string>& mpi);

// What horovodrun tells the ranks by variables, from options and from its configuration file.

/// How the value of an option is read, and written for the ranks.
enum class Kind {
  Switch,     ///< "1" where it is given, "0" where `off` is
  Count,      ///< an integer of at least 0
  Mebibytes,  ///< the same, for the ranks in bytes
  Number,     ///< of at least 0
  Share,      ///< from 0 to 1
  Text
};

struct Tuning {
  const char* option;    ///< its name, with dashes
  const char* variable;  ///< which the ranks read
  Kind kind;
  const char* key = nullptr;       ///< "section.name" in the file; nullptr: it is not in there
  const char* off = nullptr;       ///< the option that says the contrary
  const char* needs = nullptr;     ///< says nothing without this option
  bool is_off_where_true = false;  ///< what is true in the file is `off`
};

[[nodiscard]] std::span<const Tuning> tunings();

/// Gives the ranks the variables. Fails for a value that is none, and where an option and its contrary are given.
[[nodiscard]] Result<> export_tuning(Translation& t);

}  // namespace muster::horovodrun
