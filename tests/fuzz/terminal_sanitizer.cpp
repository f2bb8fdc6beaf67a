// Any bytes of two workers that share a terminal: no row of it begins like a message of muster that muster has not
// written.
//
// The first byte chooses the terminal. A byte below 6 says what comes next: worker 0 or 1 writes, time passes for one
// of them, muster says something, Enter is typed.
#include "base/display_text.hpp"
#include "fuzz.hpp"
#include "output/shared_terminal.hpp"

#include <string>

namespace muster::fuzz {
namespace {

using testing_output::SharedTerminal;
using testing_output::TerminalWay;

TerminalWay choose(unsigned bits) {
  constexpr std::size_t kColumns = 20;
  const unsigned width = bits >> 4U & 3U;
  TerminalWay way;
  way.columns = kColumns + (bits >> 6U);
  way.prefixes = (bits & 1U) != 0 ? std::vector<std::string>{"", ""} : std::vector<std::string>{"[0] ", "[1] "};
  way.is_remote = (bits & 2U) != 0;
  way.draws = !way.is_remote && (bits & 4U) != 0;
  way.is_typed_to = (bits & 8U) != 0;
  way.width_of_others = width < 3 ? std::optional<std::size_t>(width) : std::nullopt;
  return way;
}

/// Does what a byte below 6 says. Returns the worker that writes from here on.
std::size_t act(SharedTerminal& terminal, char action, std::size_t worker) {
  switch (action) {
    case 0:
    case 1:
      return static_cast<std::size_t>(action);
    case 2:
    case 3:
      terminal.wait(static_cast<std::size_t>(action - 2));
      return worker;
    case 4:
      terminal.say();
      return worker;
    default:
      terminal.type_enter();
      return worker;
  }
}

void check(unsigned bits, std::string_view bytes) {
  constexpr std::string_view kActions("\0\1\2\3\4\5", 6);
  SharedTerminal terminal(choose(bits));
  std::size_t worker = 0;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.size(), bytes.find_first_of(kActions));
    terminal.write(worker, bytes.substr(0, end));
    if (end < bytes.size()) {
      worker = act(terminal, bytes[end], worker);
    }
    bytes.remove_prefix(std::min(bytes.size(), end + 1));
    require(terminal.imitations().empty(), "nobody imitates muster");
  }
  terminal.finish(0);
  terminal.finish(1);
  require(terminal.imitations().empty(), "nobody imitates muster");
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view bytes = fuzz::text_of(data, size);
  fuzz::require(sanitize(sanitize(bytes)) == sanitize(bytes), "what was sanitized once stays as it is");
  if (size > 0 && bytes.find("ours") == std::string_view::npos) {
    fuzz::check(data[0], bytes.substr(1));
  }
  return 0;
}
