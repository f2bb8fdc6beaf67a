#pragma once

#include "environment/marker.hpp"

#include <map>
#include <string>

namespace muster {

/// A mark that no other job has: 16 hexadecimal digits.
[[nodiscard]] std::string make_marker();

/// The value of the marker variable for a process of the job: behind an outer muster's, ours is added.
[[nodiscard]] std::string add_marker(const std::map<std::string, std::string>& variables,
                                     const std::string& marker);

}  // namespace muster
