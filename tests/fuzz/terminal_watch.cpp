// Any bytes of a worker, in any pieces: all of them are shown, in their order, and in one piece alike.
#include "fuzz.hpp"

#include <muster/base/visible.hpp>
#include <muster/logs/terminal_watch.hpp>

#include <string>

namespace {

/// Whether all of it stands there, in its order, perhaps with something between.
bool has_all(std::string_view shown, std::string_view bytes) {
  std::size_t found = 0;
  for (const char c : shown) {
    found += found < bytes.size() && c == bytes[found] ? 1 : 0;
  }
  return found == bytes.size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view bytes = fuzz::text_of(data, size);
  TerminalWatch watch;
  const std::string shown = watch.show(bytes);
  fuzz::require(has_all(shown, bytes), "nothing is lost");
  TerminalWatch in_pieces;
  std::string pieces = in_pieces.show(bytes.substr(0, size / 2));
  pieces += in_pieces.show(bytes.substr(size / 2));
  fuzz::require(pieces == shown, "pieces do not matter");
  fuzz::require(watch.clear_the_way() == in_pieces.clear_the_way(), "pieces do not matter");
  fuzz::require(watch.clear_the_way().empty(), "the way is cleared once");
  fuzz::require(tame(tame(bytes)) == tame(bytes), "what was tamed once stays as it is");
  return 0;
}
