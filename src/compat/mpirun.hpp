#pragma once

// Parts of mpirun's translation: its single options, and its counts and hosts.

#include "compat/compat_launcher.hpp"

#include <string>
#include <vector>

namespace muster {

/// Translates one option into settings, and returns the words for mpirun if mpirun needs the option, too.
std::vector<std::string> mpirun_words_of(Translation& t, const TypedOption& typed);

/// Sets the counts and the lists of hosts; `others` is the number of processes of the other programs. Fails if they
/// contradict each other.
[[nodiscard]] Result<> translate_placing(Translation& t, int others);

}  // namespace muster
