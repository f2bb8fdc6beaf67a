// The reader of ranges of numbers, which other nodes and the kernel write.
#include "base/text.hpp"
#include "fuzz.hpp"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const auto numbers = parse_ranges(fuzz::text_of(data, size));
  if (numbers) {
    fuzz::require(!numbers->empty() && numbers->front() >= 0 && numbers->back() <= 65'535, "numbers have their limits");
    fuzz::require(std::ranges::adjacent_find(*numbers, std::greater_equal()) == numbers->end(), "each is there once");
    fuzz::require(parse_ranges(describe_ranges(*numbers)) == numbers, "what is written can be read");
  }
  return 0;
}
