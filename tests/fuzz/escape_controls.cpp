// Any bytes that muster shows: a terminal finds nothing to act upon, and nothing of ordinary text is lost.
#include "base/display_text.hpp"
#include "base/text.hpp"
#include "fuzz.hpp"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view bytes = fuzz::text_of(data, size);
  const std::string text = escape_controls(bytes);
  fuzz::require(valid_utf8(text) == text, "what is shown is UTF-8");
  fuzz::require(escape_controls(text) == text, "what was shown once stays as it is");
  fuzz::require(std::all_of(text.begin(), text.end(), [](char c) { return !is_control(c) || c == '\n' || c == '\t'; }),
                "no control is left");
  fuzz::require(text.find("\xC2\x9B") == std::string::npos, "no control of Latin 1 is left");
  fuzz::require(text.size() <= 10 * bytes.size(), "an escape is short");
  const std::string line = visible_line(bytes);
  fuzz::require(std::none_of(line.begin(), line.end(), is_control), "a line is one line");
  return 0;
}
