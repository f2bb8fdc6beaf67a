// Reads the output of an agent for the launcher that has started it, with control lines in it. The first byte says how it
// is torn.
#include "base/control_lines.hpp"

#include "fuzz.hpp"

#include <algorithm>
#include <string>

namespace muster::fuzz {
namespace {

/// All that is told, and all that passes.
std::string filtered(std::string_view bytes, std::size_t chunk) {
  std::string told;
  std::string out;
  ControlLineFilter filter("ab");
  filter.on_control = [&](const std::string& kind, const std::string& text) { told += kind + ":" + text + "\n"; };
  for (; !bytes.empty(); bytes.remove_prefix(std::min(chunk, bytes.size()))) {
    filter.feed(bytes.substr(0, chunk), out);
  }
  filter.finish(out);
  return told + '\0' + out;
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  std::string_view bytes = fuzz::text_of(data, size);
  if (bytes.empty()) {
    return 0;
  }
  const std::size_t chunk = 1 + data[0];
  bytes.remove_prefix(1);
  fuzz::require(fuzz::filtered(bytes, chunk) == fuzz::filtered(bytes, bytes.size() + 1), "tearing changes nothing");
  FrameReader reader(kMostFrameBytes);
  reader.feed(bytes);
  for (auto frame = next_frame(reader); frame && *frame; frame = next_frame(reader)) {
    fuzz::require(!(*frame)->kind.empty(), "a frame has a kind");
  }
  return 0;
}
