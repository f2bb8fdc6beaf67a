#pragma once

#include "base/unique_fd.hpp"

namespace muster {

enum class NullFor {
  Reading,
  Writing
};

/// /dev/null, close-on-exec. Where there is none: a pipe whose other end is closed, which is at its end for who
/// reads, and broken for who writes. Empty if not even that can be had.
[[nodiscard]] UniqueFd open_null(NullFor use);

}  // namespace muster
