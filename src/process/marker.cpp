// Makes the mark of a job.
#include "process/marker.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>

namespace muster {

std::string make_marker() {
  std::uint64_t bits = 0;
  if (::getrandom(&bits, sizeof bits, GRND_NONBLOCK) != sizeof bits) {
    // Early at boot, or an old kernel: the time and the pid tell jobs of one machine apart.
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    bits = (static_cast<std::uint64_t>(now) << 22U) ^ static_cast<std::uint64_t>(::getpid());
  }
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(bits));
  return text.data();
}

std::string add_marker(const std::map<std::string, std::string>& variables,
                       const std::string& marker) {
  const auto outer = variables.find(kMarkerVariable);
  return outer == variables.end() ? marker : outer->second + ":" + marker;
}

}  // namespace muster
