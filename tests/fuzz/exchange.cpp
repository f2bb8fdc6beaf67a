// Contributions of a hostile agent: chunks that do not fit, values that do not unpack, impossible rounds.
// The first byte says how the frames are torn; the frames follow, from three agents in turn.
#include "gang/protocol/exchange.hpp"

#include "../unit/gang/all_parts.hpp"
#include "base/frame.hpp"
#include "fuzz.hpp"
#include "gang/protocol/message_encoding.hpp"

#include <algorithm>
#include <string>

namespace muster::fuzz {
namespace {

using gang::LinkId;

constexpr std::size_t kMostHeld = 100'000;
constexpr LinkId kAgents = 3;

gang::ExchangeKeys keys() {
  return {{"a", gang::Phase::BeforeStart, 40'000, 60'000, gang::all_parts},
          {"b", gang::Phase::WhileRunning, 40'000, 60'000, gang::all_parts}};
}

/// Checks that an agent can assemble the chunks of a delivery, and that the value is within the limit of its key.
void check(const gang::Delivery& delivery) {
  gang::ExchangeClient agent(keys());
  (void)agent.start(delivery.chunks.front().chunk.id.attempt);
  for (std::size_t i = 0; i < delivery.chunks.size(); ++i) {
    const auto value = agent.take(delivery.chunks[i]);
    require(value.has_value(), "what the leader sends fits");
    require(value->has_value() == (i + 1 == delivery.chunks.size()), "the last chunk is the last");
    require(!*value || (*value)->bytes.size() <= 60'000, "a result has its limit");
  }
}

/// Returns false when nothing follows any more.
bool take(gang::ExchangeServer& exchange, LinkId link, const gang::Contribute& contribute) {
  for (const gang::ExchangeOutcome& outcome : exchange.take(link, contribute)) {
    if (std::holds_alternative<Error>(outcome)) {
      return false;
    }
    if (const auto* const breach = std::get_if<gang::Violation>(&outcome)) {
      require(breach->link == link && !breach->why.empty(), "who breaks the rules is told why");
      (void)exchange.forget(link);
    } else {
      check(std::get<gang::Delivery>(outcome));
    }
  }
  require(exchange.held() <= kMostHeld, "what is held has its limit");
  return true;
}

void contribute(std::string_view bytes, std::size_t chunk) {
  gang::ExchangeServer exchange(keys(), kMostHeld);
  std::vector<gang::ExchangeNode> nodes;
  for (LinkId link = 0; link < kAgents; ++link) {
    exchange.add(link, {"a"});
    nodes.push_back({link, "host"});
  }
  (void)exchange.begin(0, nodes);
  FrameReader reader(gang::kMostMessageBytes);
  LinkId link = 0;
  while (!bytes.empty()) {
    reader.feed(bytes.substr(0, chunk));
    bytes.remove_prefix(std::min(chunk, bytes.size()));
    for (auto next = reader.next(); next && *next; next = reader.next()) {
      const auto message = gang::decode(**next);
      const auto* const found = message ? std::get_if<gang::Contribute>(&*message) : nullptr;
      if (found != nullptr && !take(exchange, link++ % kAgents, *found)) {
        return;
      }
    }
  }
  (void)exchange.begin(1, nodes);
  exchange.end();
  for (LinkId gone = 0; gone < kAgents; ++gone) {
    (void)exchange.forget(gone);
  }
  require(exchange.held() == 0, "nothing is left of those who are gone");
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes = muster::fuzz::text_of(data, size);
  if (!bytes.empty()) {
    muster::fuzz::contribute(bytes.substr(1), 1 + data[0]);
  }
  return 0;
}
