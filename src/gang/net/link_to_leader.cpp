// The link to the leader, and the dials before it.
#include "gang/net/link_to_leader.hpp"

#include <algorithm>
#include <utility>

namespace muster::gang {

using boost::asio::ip::tcp;

namespace {

/// ", which is 10.0.0.9": what a name stands for, the first few of it.
std::string which_is(const Resolver::Addresses& addresses, const std::string& name) {
  constexpr std::size_t kMost = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(addresses.size(), kMost); ++i) {
    text += (i == 0 ? "" : ", ") + addresses[i].to_string();
  }
  return text == name ? "" : ", which is " + text;
}

}  // namespace

LinkToLeader::LinkToLeader(boost::asio::io_context& io,
                           const GangConfig& policy,
                           const GangKey* key,
                           std::function<void(ParticipantEvent)> send)
    : host_(policy.host),
      host_from_(policy.host_from),
      port_(policy.port),
      key_(key),
      tell_(std::move(send)),
      resolver_(io),
      dialer_(io) {}

void LinkToLeader::check_is_this_leader(std::function<void(bool)> answer) {
  resolver_.resolve(host_, [answer = std::move(answer)](const auto& addresses) {
    answer(addresses && std::any_of(addresses->begin(), addresses->end(), [](const auto& address) {
             return is_own(address);
           }));
  });
}

void LinkToLeader::check_is_elsewhere(std::function<void(const std::string&)> answer) {
  resolver_.resolve_aside(host_, [this, answer = std::move(answer)](const auto& addresses) {
    if (addresses && std::none_of(addresses->begin(), addresses->end(), is_own)) {
      answer(host_from_ + " is '" + host_ + "'" + which_is(*addresses, host_) +
             ": no address of this host, which leads and listens; the other nodes find it only if "
             "that leads here, as the address of a Service does");
    }
  });
}

void LinkToLeader::forget() {
  resolver_.cancel();
}

void LinkToLeader::give_up() {
  dialer_.cancel();
  hang_up();
}

void LinkToLeader::connect() {
  dialer_.dial(host_, port_, [this](boost::system::result<tcp::socket, DialFailure> socket) {
    if (socket) {
      on_connected(std::move(*socket));
    } else {
      tell_(DialFailed{socket.error().text});
    }
  });
}

void LinkToLeader::on_connected(tcp::socket socket) {
  link_ = std::make_unique<Link>(std::move(socket), key_, Link::Side::Agent);
  link_->on_message = [this](Message message) { tell_(FromLeader{std::move(message)}); };
  link_->on_lost = [this](const std::string& why) {
    link_.reset();
    tell_(LinkDown{why});
  };
  link_->start();
  tell_(LinkUp{});
}

void LinkToLeader::send(const Message& message) {
  if (link_) {
    link_->send(message);
  }
}

void LinkToLeader::hang_up() {
  if (link_) {
    link_->close_when_sent();
    link_.reset();
  }
}

}  // namespace muster::gang
