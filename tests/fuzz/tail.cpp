// Any bytes of a worker, in pieces: the last lines are few, short and valid UTF-8.
#include "base/text.hpp"
#include "fuzz.hpp"
#include "output/line_framer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  std::string_view bytes = fuzz::text_of(data, size);
  Tail tail;
  for (int repetition = 0; repetition < 50; ++repetition) {  // beyond what is remembered
    tail.feed(bytes.substr(0, size / 3));
    tail.feed(bytes.substr(size / 3));
  }
  const std::vector<std::string> lines = tail.lines();
  fuzz::require(lines.size() <= Tail::kLines, "few lines");
  for (const std::string& line : lines) {
    fuzz::require(valid_utf8(line) == line, "lines are UTF-8");
    fuzz::require(line.find('\n') == std::string::npos, "a line is one line");
    fuzz::require(line.size() <= 3 * (Tail::kLongestLine + 3), "short lines");
  }
  return 0;
}
