// Any bytes that a worker left in its error file.
#include "base/text.hpp"
#include "fuzz.hpp"
#include "output/line_framer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string message = read_error_file(std::string(fuzz::text_of(data, size)));
  fuzz::require(valid_utf8(message) == message, "the message is UTF-8");
  fuzz::require(message.find('\n') == std::string::npos, "the message is one line");
  fuzz::require(message.size() < 4'000, "the message is short");
  const std::string passed = pass_on_error_file(std::string(fuzz::text_of(data, size)), 7);
  fuzz::require(pass_on_error_file(passed, 7) == passed, "what is passed on can be passed on again");
  return 0;
}
