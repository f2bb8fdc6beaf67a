// Any text that is taken for a script of Python.
#include "compat/spawn_calls.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text = fuzz::text_of(data, size);
  const auto call = find_spawn(text);
  fuzz::require(!call || (call->line >= 1 && call->count.size() < 100), "a call is in a line");
  return 0;
}
