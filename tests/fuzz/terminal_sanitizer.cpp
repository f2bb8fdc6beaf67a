// Any bytes of a worker, in any pieces: all of them are shown, in their order, and in one piece alike.
#include "output/terminal_sanitizer.hpp"

#include "base/display_text.hpp"
#include "fuzz.hpp"

#include <string>

namespace {

/// Byte by byte: each is shown, and behind it nothing or a mark.
std::string show_each(std::string_view bytes) {
  muster::TerminalSanitizer watch;
  std::string all;
  for (const char& c : bytes) {
    const std::string shown = watch.show({&c, 1});
    muster::fuzz::require(shown.starts_with(c), "nothing is lost");
    const std::string_view added = std::string_view(shown).substr(1);
    muster::fuzz::require(added.empty() || added == "\r| muster: " || added == "\b\b\b\b\b\b\b\b| muster: ",
                          "nothing is added but marks");
    all += shown;
  }
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view bytes = fuzz::text_of(data, size);
  TerminalSanitizer watch;
  const std::string shown = watch.show(bytes);
  fuzz::require(show_each(bytes) == shown, "pieces do not matter");
  TerminalSanitizer in_pieces;
  std::string pieces = in_pieces.show(bytes.substr(0, size / 2));
  pieces += in_pieces.show(bytes.substr(size / 2));
  fuzz::require(pieces == shown, "pieces do not matter");
  fuzz::require(watch.write_reset() == in_pieces.write_reset(), "pieces do not matter");
  fuzz::require(watch.write_reset().empty(), "the way is cleared once");
  fuzz::require(sanitize(sanitize(bytes)) == sanitize(bytes), "what was tamed once stays as it is");
  return 0;
}
