// The margin between our kill and the platform's.
#include "supervise/notice.hpp"

#include <algorithm>

namespace muster {

std::chrono::milliseconds time_to_save(std::chrono::milliseconds limit) {
  using std::chrono::milliseconds;
  const milliseconds margin = std::clamp(limit / 10, milliseconds(500), milliseconds(3'000));
  return std::max(limit - margin - kLastGrace, milliseconds(0));
}

}  // namespace muster
