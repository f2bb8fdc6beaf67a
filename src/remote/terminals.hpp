#pragma once

#include <cstddef>
#include <optional>

namespace muster {

/// Which streams are terminals, and how many columns wide; 0: it does not say.
struct Terminals {
  std::optional<std::size_t> out;
  std::optional<std::size_t> error;
};

}  // namespace muster
