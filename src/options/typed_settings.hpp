#pragma once

// Strict readers of single options. Each leaves its target as it is when the option is not given,
// and fails by naming the source, the value and what was expected.

#include "base/result.hpp"
#include "options/settings.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// True when a switch is on: given as a flag, or as MUSTER_<NAME>=1.
[[nodiscard]] bool is_on(const Settings& settings, std::string_view name);

/// Which durations an option takes.
struct DurationRange {
  double least = 0;
  double most = 0;               ///< 0: no bound of its own
  bool is_least_allowed = true;  ///< false: more than `least`
};

[[nodiscard]] Result<> read_duration(std::chrono::milliseconds& target,
                                     const Settings& settings,
                                     std::string_view name,
                                     const DurationRange& range = {});
[[nodiscard]] Result<> read_duration(std::optional<std::chrono::milliseconds>& target,
                                     const Settings& settings,
                                     std::string_view name,
                                     const DurationRange& range = {});

/// A name that is not empty; whether there is such a file is seen when it is used.
[[nodiscard]] Result<> read_file_name(std::string& target,
                                      const Settings& settings,
                                      std::string_view name);

}  // namespace muster
