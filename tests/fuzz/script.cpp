// Any text that is taken for a script, of Python or of a shell.
#include "compat/spawn_calls.hpp"
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text = fuzz::text_of(data, size);
  const auto call = find_spawn(text);
  fuzz::require(!call || (call->line >= 1 && call->count.size() < 100), "a call is in a line");
  std::size_t last = 0;
  for (const ShellCommand& command : read_shell(text)) {
    fuzz::require(command.line >= last && !command.words.empty(), "commands come in their order");
    last = command.line;
  }
  return 0;
}
