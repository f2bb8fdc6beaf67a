#pragma once

// Commands that run the one that their words name, as in "timeout 5 torchrun train.py". Private to program/.

#include <span>
#include <string>

namespace muster {

struct Wrapped {
  std::span<const std::string> words;
  bool is_python = false;  ///< the first word stands where Python's name would
};

/// What is run in the end. A wrapper that is not known, or whose options are not, is taken for the program.
[[nodiscard]] Wrapped without_wrappers(std::span<const std::string> words);

}  // namespace muster
