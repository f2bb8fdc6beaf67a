// Requests to the store that is compatible with torch's: four clients connect, write, read, stay silent, leave and
// are disconnected.
//
// Three stores get equal bytes in pieces of different sizes, and have to give equal answers.
#include "services/torch_store/store.hpp"

#include "fuzz.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>

namespace muster::fuzz {
namespace {

using namespace muster::store;

constexpr std::size_t kWorkers = 2;
constexpr std::size_t kMostKept = 4'096;
constexpr std::size_t kMostUnread = 512;
constexpr std::size_t kMostUnreadOfAll = 768;
constexpr std::size_t kMostUnfinished = 1'536;
constexpr std::size_t kMostClients = 3;

Limits small_limits() {
  Limits limits;
  limits.key = 64;
  limits.value = 256;
  limits.keys = 32;
  limits.request = 1'024;
  limits.data = kMostKept;
  limits.unread = kMostUnread;
  limits.unfinished = kMostUnfinished;
  limits.unread_of_all = kMostUnreadOfAll;
  limits.connections_per_worker = 1;  // three in all
  return limits;
}

/// A store, and what its clients have heard. Places of clients are 0 to 3; each connection has a number of its own.
class Heard {
 public:
  explicit Heard(std::size_t step) : step_(step) {}

  void open(std::size_t place) {
    close(place);
    numbers_[place] = next_++;
    const char address = static_cast<char>('a' + place % 2);
    store_.on_opened(numbers_[place], std::string(1, address));
  }
  void say(std::size_t place, std::string_view bytes) {
    for (; is_open(place) && !bytes.empty(); bytes.remove_prefix(std::min(step_, bytes.size()))) {
      note(place, store_.on_bytes(numbers_[place], bytes.substr(0, step_)));
    }
  }
  void silence(std::size_t place) {
    if (is_open(place) && store_.awaits_silence(numbers_[place])) {
      note(place, store_.on_silence(numbers_[place]));
    }
  }
  void close(std::size_t place) {
    if (is_open(place)) {
      store_.on_closed(numbers_[place]);
      numbers_[place] = 0;
    }
  }
  void read() {
    while (const auto answer = store_.next_answer()) {
      require(!answer->bytes.empty(), "an answer has bytes");
      require(answer->bytes.size() <= kMostUnread + 1, "no more than may be unread");
      heard_[answer->client] += answer->bytes;
      store_.on_written(answer->client);
    }
  }
  const std::map<ClientId, std::string>& heard() const { return heard_; }
  std::size_t unread() const { return store_.unread(); }
  void close_who_gives_way() {
    while (const auto some = store_.clients_to_close()) {
      require(!some->clients.empty(), "somebody gives way");
      for (const ClientId client : some->clients) {
        const auto at = std::find(numbers_.begin(), numbers_.end(), client);
        require(at != numbers_.end(), "who gives way is there");
        heard_[client] += "! " + some->why.message;
        close(static_cast<std::size_t>(at - numbers_.begin()));
      }
    }
  }
  void check() const {
    require(store_.bytes() <= kMostKept, "no more than it may keep");
    require(store_.unread() <= kMostUnreadOfAll, "no more than all may leave unread");
    require(store_.connections() <= kMostClients, "who is gone is gone");
    for (const WaitingClient& one : store_.waiting(4)) {
      require(one.missing > 0 && one.keys.size() == std::min<std::size_t>(one.missing, 4),
              "who waits misses something");
    }
    require(store_.joined_ranks().ranks.size() <= 1'024, "ranks are counted");
  }

 private:
  bool is_open(std::size_t place) const { return numbers_[place] != 0; }
  void note(std::size_t place, const Result<>& done) {
    if (!done) {
      heard_[numbers_[place]] += "! " + done.error().message;
      read();
      close(place);
    }
  }

  std::size_t step_;
  Store store_{kWorkers, small_limits()};
  std::array<ClientId, 4> numbers_{};
  ClientId next_ = 1;
  std::map<ClientId, std::string> heard_;
};

/// Takes a step of the script for all stores: a byte that says who does what, and what belongs to it.
void play(std::string_view& script, std::array<Heard, 3>& all) {
  const auto next = [&script] {
    const auto byte = script.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(script.front());
    script.remove_prefix(std::min<std::size_t>(script.size(), 1));
    return byte;
  };
  const std::uint8_t what = next();
  const std::size_t place = (what >> 3U) % 4;
  std::string said;
  if (what % 8 == 0) {
    const std::size_t size = next();
    said = script.substr(0, size);
    script.remove_prefix(said.size());
  } else if (what % 8 == 2) {
    said = std::string("\0\xce\xf7\x85\x3c\x0d", 6) + static_cast<char>(next()) + std::string(3, '\0');
  }
  for (Heard& one : all) {
    switch (what % 8) {
      case 1:
      case 2:
        one.open(place);
        break;
      case 3:
        one.close(place);
        break;
      case 4:
        one.silence(place);
        break;
      case 5:
        one.read();
        break;
      default:
        break;
    }
    one.say(place, said);
    one.close_who_gives_way();
    one.check();
  }
}

void check(std::string_view script) {
  std::array<Heard, 3> all = {Heard(1), Heard(7), Heard(4'096)};
  while (!script.empty()) {
    play(script, all);
  }
  for (Heard& one : all) {
    one.read();
    require(one.unread() == 0, "what is read is gone");
    require(one.heard() == all[0].heard(), "pieces change nothing");
  }
  for (std::size_t place = 0; place < 4; ++place) {
    all[0].close(place);
    all[0].check();
  }
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::check(muster::fuzz::text_of(data, size));
  return 0;
}
