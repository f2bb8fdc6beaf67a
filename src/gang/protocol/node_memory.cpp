// Says of a lost node that its memory was nearly used up.
#include "gang/protocol/node_memory.hpp"

#include "base/text.hpp"

#include <array>
#include <chrono>
#include <cstdio>

namespace muster::gang {
namespace {

std::string tenths_of_seconds(Instant::duration time) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.1f s", std::chrono::duration<double>(time).count());
  return text.data();
}

std::string format_mebibytes(int mebibytes) {
  constexpr unsigned kBits = 20;
  return format_bytes(static_cast<std::uint64_t>(mebibytes) << kBits);
}

}  // namespace

void NodeMemory::note(const MemoryUse& use, Instant now) {
  first_oom_kills_ = first_oom_kills_.value_or(use.oom_kills);
  last_ = use;
  last_at_ = now;
}

std::string NodeMemory::describe(Instant now) const {
  std::string text;
  if (last_.is_short()) {
    text = "; its memory group was at " + format_mebibytes(last_.used_mib) + " of " +
           format_mebibytes(last_.limit_mib) + " " + tenths_of_seconds(now - last_at_) + " before";
  }
  if (const int killed = last_.oom_kills - first_oom_kills_.value_or(0); killed > 0) {
    text += "; the kernel had killed " + count_of(static_cast<std::size_t>(killed), "process") +
            " there because memory ran out";
  }
  return text;
}

}  // namespace muster::gang
