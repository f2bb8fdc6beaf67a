// Requests of workers in the pipe of the file timer.
//
// The first byte says how long the pieces are that are read.
#include "services/file_timer.hpp"

#include "fuzz.hpp"

#include <algorithm>

namespace muster::fuzz {
namespace {

constexpr file_timer::Limits kLimits{.line_bytes = 256, .timers = 16, .scope_bytes = 128};

void check(std::string_view text) {
  file_timer::Timers timers(kLimits);
  const std::size_t step = text.empty() ? 1 : std::max<std::size_t>(static_cast<unsigned char>(text[0]), 1);
  for (std::size_t i = 1; i < text.size(); i += step) {
    (void)timers.take(text.substr(i, step));
    require(timers.size() <= kLimits.timers, "no more timers than may be kept");
    require(timers.bytes() <= kLimits.line_bytes + kLimits.scope_bytes, "and no more bytes");
    require(timers.next().has_value() == (timers.size() > 0), "each timer has a time");
  }
  while (const auto next = timers.next()) {
    require(*next >= 0, "a negative time takes a timer back");
    const auto expired = timers.expire(*next);
    require(expired.has_value(), "who is next has expired at its time");
    require(expired->pid > 0 && expired->expires <= *next, "a process, and its time is over");
  }
  require(timers.bytes() <= kLimits.line_bytes, "without timers nothing but a line is kept");
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::check(muster::fuzz::text_of(data, size));
  return 0;
}
