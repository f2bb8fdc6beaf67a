// Any bytes of a worker, in any pieces: all of them are shown, in their order, and in one piece alike.
#include "fuzz.hpp"

#include <muster/base/visible.hpp>
#include <muster/logs/terminal_watch.hpp>

#include <string>

namespace {

std::string without(std::string text, std::string_view what) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.erase(at, what.size());
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view bytes = fuzz::text_of(data, size);
  constexpr std::string_view kAdded = "\r| muster: ";
  TerminalWatch watch;
  const std::string shown = watch.show(bytes);
  const std::string original(bytes);
  fuzz::require(without(shown, kAdded) == without(original, kAdded), "nothing is lost");
  TerminalWatch in_pieces;
  std::string pieces = in_pieces.show(bytes.substr(0, size / 2));
  pieces += in_pieces.show(bytes.substr(size / 2));
  fuzz::require(pieces == shown, "pieces do not matter");
  fuzz::require(watch.clear_the_way() == in_pieces.clear_the_way(), "pieces do not matter");
  fuzz::require(watch.clear_the_way().empty(), "the way is cleared once");
  fuzz::require(tame(tame(bytes)) == tame(bytes), "what was tamed once stays as it is");
  return 0;
}
