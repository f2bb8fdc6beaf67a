#pragma once

#include <muster/environment/marker.hpp>

#include <string>

namespace muster {

/// A mark that no other job has: 16 hexadecimal digits.
[[nodiscard]] std::string make_marker();

}  // namespace muster
