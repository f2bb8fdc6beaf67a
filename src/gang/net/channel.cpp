// A link without a token, and which of the two kinds a link is.
#include "gang/net/channel.hpp"

#include "gang/net/tls_channel.hpp"

#include <utility>

namespace muster::gang {
namespace {

class PlainChannel : public Channel {
 public:
  explicit PlainChannel(Side side) : side_(side) {}

  Result<std::string> receive(std::string_view wire) override {
    if (!wire.empty() && !std::exchange(has_received_, true) &&
        (wire.front() == kFirstOfHandshake || wire.front() == kFirstOfAlert)) {
      return refuse();
    }
    return std::string(wire);
  }

  void send(std::string_view plaintext) override { outgoing_ += plaintext; }
  std::string take_outgoing() override { return std::exchange(outgoing_, {}); }
  bool is_established() const override { return true; }

 private:
  Error refuse() {
    outgoing_.clear();
    if (side_ == Side::Agent) {
      return {ErrorKind::BadData, "has a token, and this agent has none"};
    }
    outgoing_ = kFirstOfPlain;
    return {ErrorKind::BadData, "has a token, and this job has none"};
  }

  Side side_;
  bool has_received_ = false;
  std::string outgoing_;
};

}  // namespace

std::unique_ptr<Channel> make_channel(const GangKey* key, Side side) {
  if (key != nullptr) {
    return make_tls_channel(*key, side);
  }
  return std::make_unique<PlainChannel>(side);
}

}  // namespace muster::gang
