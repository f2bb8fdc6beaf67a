// Messages between the remote launcher and its agents, both directions, torn anywhere.
//
// The first byte says how long the pieces are.
#include "base/control_lines.hpp"
#include "fuzz.hpp"
#include "remote/remote_agents.hpp"

#include <algorithm>
#include <string>

namespace muster::fuzz {
namespace {

/// Every frame that is read, written again: what was read is the beginning of what was sent.
void check_frames(std::string_view bytes, std::size_t step) {
  FrameReader reader(kMostFrameBytes);
  AgentOrder order;
  std::size_t frames = 0;
  for (std::size_t i = 0; i < bytes.size(); i += step) {
    reader.feed(bytes.substr(i, step));
    auto frame = next_frame(reader);
    for (; frame && *frame; frame = next_frame(reader)) {
      ++frames;
      (void)add_frame(order, **frame);
    }
    if (!frame) {
      break;
    }
    require(reader.wanted() > 0, "something can be read");
  }
  require(frames <= bytes.size(), "a frame has a byte at least");
  (void)write_order(order);
}

void check_words(std::string_view bytes, std::size_t step) {
  std::string whole;
  std::string torn;
  for (auto& [out, length] : {std::pair{&whole, bytes.size() + 1}, std::pair{&torn, step}}) {
    ControlLineFilter control_filter("n");
    control_filter.on_control = [out = out](const std::string& kind, const std::string& text) {
      *out += "<" + kind + "|" + text + ">";
    };
    for (std::size_t i = 0; i < bytes.size(); i += length) {
      control_filter.feed(bytes.substr(i, length), *out);
    }
    control_filter.finish(*out);
  }
  require(whole == torn, "tearing changes nothing");
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const std::string_view text = fuzz::text_of(data, size);
  if (text.empty()) {
    return 0;
  }
  const std::size_t step = std::max<std::size_t>(data[0], 1);
  fuzz::check_frames(text.substr(1), step);
  fuzz::check_words(text.substr(1), step);
  return 0;
}
