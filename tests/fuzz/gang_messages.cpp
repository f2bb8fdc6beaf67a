// Any bytes of a stranger: frames, and messages in them. The first byte says how the rest is torn.
#include "base/frame.hpp"
#include "base/text.hpp"
#include "fuzz.hpp"
#include "gang/protocol/message_encoding.hpp"

#include <string>
#include <vector>

namespace muster::fuzz {
namespace {

using Payloads = std::vector<std::string>;

void check_message(std::string_view payload) {
  const auto message = gang::decode(payload);
  if (!message) {
    require(!message.error().message.empty(), "an error says something");
    return;
  }
  const std::string text = gang::encode(*message);
  require(text.size() <= gang::kMostMessageBytes, "a message has its limit");
  const std::string json = text.substr(0, text.find('\0'));
  require(valid_utf8(json) == json, "a message is UTF-8 before its bytes");
  const auto again = gang::decode(text);
  require(again.has_value(), "what is written can be read");
  require(again->index() == message->index(), "and is the same message");
}

/// Payloads until the end or the first error.
Payloads read(std::string_view bytes, std::size_t chunk, std::size_t limit) {
  Payloads payloads;
  FrameReader reader(limit);
  while (!bytes.empty()) {
    reader.feed(bytes.substr(0, chunk));
    bytes.remove_prefix(std::min(chunk, bytes.size()));
    while (true) {
      const auto next = reader.next();
      if (!next) {
        return payloads;
      }
      if (!*next) {
        break;
      }
      require(!(*next)->empty() && (*next)->size() <= limit, "a payload has its limit");
      payloads.push_back(**next);
    }
    require(reader.rest().size() <= limit + 4, "no more is held than one frame");
  }
  return payloads;
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
  fuzz::check_message(bytes);
  for (const std::size_t limit : {gang::kMostJoinBytes, gang::kMostMessageBytes}) {
    const fuzz::Payloads payloads = fuzz::read(bytes, chunk, limit);
    fuzz::require(payloads == fuzz::read(bytes, bytes.size() + 1, limit), "tearing changes nothing");
    for (const std::string& payload : payloads) {
      fuzz::check_message(payload);
    }
  }
  return 0;
}
