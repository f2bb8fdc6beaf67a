#pragma once

// What single options of mpirun's mean.

#include "compat/front_end.hpp"

namespace muster {

/// Settings for what it says, and the words for mpirun, where that is to get it as well.
[[nodiscard]] std::vector<std::string> mpirun_words_of(Translation& t, const TypedOption& typed);

/// The one that is given, if any, that lets more processes be started than there are slots.
[[nodiscard]] std::optional<Sourced<std::string>> find_oversubscription(const Translation& t);

/// The one that is given, if any, that tells mpirun which slots to fill, in a way that is not muster's.
[[nodiscard]] const TypedOption* find_own_placing(const Translation& t);

}  // namespace muster
