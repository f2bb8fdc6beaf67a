// Requests of clients to Horovod's store.
//
// A line of `|` ends what one client sends; the first byte of each says how long the pieces are.
#include "fuzz.hpp"
#include "services/horovod.hpp"

#include <algorithm>
#include <set>

namespace muster::fuzz {
namespace {

using horovod::Store;

constexpr std::size_t kMostBytes = 4'096;

void check(std::string_view text) {
  Store store(kMostBytes);
  std::set<ClientId> held;
  for (ClientId client = 1; !text.empty(); ++client) {
    const std::size_t end = std::min(text.find("|\n"), text.size());
    const std::string_view bytes = text.substr(0, end);
    text.remove_prefix(std::min(end + 2, text.size()));
    const std::size_t step = bytes.empty() ? 1 : std::max<std::size_t>(static_cast<unsigned char>(bytes[0]), 1);
    Store::Next next = Store::Next::Read;
    for (std::size_t i = 1; i < bytes.size() && next == Store::Next::Read; i += step) {
      next = store.on_bytes(client, bytes.substr(i, step));
    }
    if (next == Store::Next::Read) {
      store.on_closed(client);
    } else {
      held.insert(client);
    }
    for (auto reply = store.take_reply(); reply; reply = store.take_reply()) {
      require(held.erase(reply->client) == 1, "each client has one answer");
      require(reply->bytes.find("\r\nContent-Length: ") != std::string::npos, "with a length");
    }
    require(store.bytes() <= kMostBytes, "no more than it may keep");
  }
  for (const ClientId client : held) {
    store.on_deferred(client);
    require(store.take_reply().has_value(), "who was held is answered");
  }
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::check(muster::fuzz::text_of(data, size));
  return 0;
}
