#pragma once

// What a worker writes into, and what we read it from. Private to run/.

#include "process/output_way.hpp"

#include "base/result.hpp"
#include "base/unique_fd.hpp"

#include <optional>

namespace muster {

/// The ends of one side. `out` is empty where both streams are one, which then is `error`.
struct StreamEnds {
  UniqueFd out;
  UniqueFd error;
};

struct OutputEnds {
  StreamEnds ours;                 ///< to read from
  StreamEnds workers;              ///< to be closed here once the worker has copies
  std::optional<Error> refusal{};  ///< why a pipe was made where a terminal was wanted
};

/// All of them are close-on-exec, and no terminal becomes the one that controls us. A terminal passes bytes as they are
/// written, and echoes nothing. Fails with `System` when no descriptor is left.
[[nodiscard]] Result<OutputEnds> make_output_ends(const OutputConnection& way);

}  // namespace muster
