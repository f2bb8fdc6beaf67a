#pragma once

// Parts of horovodrun's translation: its configuration file and the variables of the ranks.

#include "compat/compat_launcher.hpp"

namespace muster::horovodrun {

/// Adds the options that the file of --config-file sets, unless a flag sets them. Does nothing if no file is named.
/// Fails for a file that cannot be read.
[[nodiscard]] Result<> take_configuration(Translation& t);

// The variables that horovodrun sets for the ranks, from options and from its configuration file.

/// Type of an option's value, which decides how it is read, and written for the ranks.
enum class Kind {
  Switch,     ///< "1" if it is given, "0" if `off` is given
  Count,      ///< an integer of at least 0
  Mebibytes,  ///< a count, written in bytes for the ranks
  Number,     ///< of at least 0
  Share,      ///< from 0 to 1
  Text
};

struct Tuning {
  const char* option;    ///< its name, with dashes
  const char* variable;  ///< read by the ranks
  Kind kind;
  const char* key = nullptr;       ///< "section.name" in the file; nullptr: the file has no such key
  const char* off = nullptr;       ///< the option that turns it off
  const char* needs = nullptr;     ///< it has no effect without this option
  bool is_off_where_true = false;  ///< true in the file means `off`
};

/// Exports the variables to the ranks. Fails for an invalid value, and if an option and its contrary are given.
[[nodiscard]] Result<> export_tuning(Translation& t);

}  // namespace muster::horovodrun
