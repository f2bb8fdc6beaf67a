// Reckons the time that the end of an allocation leaves.
#include "run/suspend_options.hpp"

#include "supervise/supervisor.hpp"

namespace muster {

std::optional<std::chrono::milliseconds> SuspendOptions::time_left() const {
  if (!allocation_end) {
    return std::nullopt;
  }
  const auto left = *allocation_end - std::chrono::system_clock::now();
  return time_to_save(std::chrono::duration_cast<std::chrono::milliseconds>(left));
}

}  // namespace muster
