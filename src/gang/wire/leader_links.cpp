// The links of the leader: one for each agent, and for a while one for whoever comes by.
#include "leader_links.hpp"

#include "frame.hpp"
#include "gang/decide/encoding.hpp"

#include <muster/logs/messages.hpp>

#include <sys/resource.h>

#include <algorithm>

namespace muster::gang {
namespace {

using boost::asio::ip::tcp;

/// So many strangers are named, each once; a port scan must not fill the log.
constexpr std::size_t kStrangersNamed = 50;
/// Links that have not said who they are. More than that many agents never come at once.
constexpr std::size_t kLeastPending = 1'024;

}  // namespace

std::optional<ListenFailure> LeaderLinks::open(std::uint16_t port) {
  auto listener = Listener::open(io_, port);
  if (!listener) {
    return listener.error();
  }
  listener_ = std::move(*listener);
  listener_->on_remark = [](const std::string& remark) { say_warning(remark); };
  listener_->on_accept = [this](tcp::socket socket) { on_accept(std::move(socket)); };
  listener_->start();
  if (key_ == nullptr) {
    say_info(
        "the links between the nodes are not encrypted: whoever reaches this port can disturb the "
        "job (--token-file)");
  }
  return std::nullopt;
}

void LeaderLinks::send(const SendTo& wanted) {
  std::shared_ptr<const std::string> framed;
  for (const LinkId link : wanted.links) {
    const auto at = links_.find(link);
    if (at == links_.end()) {
      continue;  // the leader's own, or gone, and that is in the queue
    }
    if (wanted.links.size() == 1) {
      at->second->send(wanted.message);
      continue;
    }
    if (!framed) {
      framed = std::make_shared<const std::string>(frame(encode(wanted.message)));
    }
    at->second->send_shared(framed);
  }
}

void LeaderLinks::drop(LinkId link) {
  pending_.erase(link);
  if (const auto at = links_.find(link); at != links_.end()) {
    at->second->close_when_sent();
    links_.erase(at);
  }
}

void LeaderLinks::on_accept(tcp::socket socket) {
  const LinkId link = next_link_++;
  auto made = std::make_unique<Link>(std::move(socket), key_, Link::Side::Leader);
  made->on_message = [this, link](Message message) { on_message(link, std::move(message)); };
  made->on_lost = [this, link](const std::string& why) { on_lost(link, why); };
  Link& started = *links_.emplace(link, std::move(made)).first->second;
  pending_.insert(link);
  started.start();
  const auto most = most_pending();
  if (pending_.size() > most) {
    drop(*pending_.begin());
  }
}

/// Strangers never get more than a quarter of the descriptors: the workers' pipes need them.
std::size_t LeaderLinks::most_pending() const {
  rlimit limit{};
  const bool is_known = ::getrlimit(RLIMIT_NOFILE, &limit) == 0;
  const auto wanted = std::max(kLeastPending, 2 * static_cast<std::size_t>(most_nodes_));
  return is_known ? std::min(wanted, static_cast<std::size_t>(limit.rlim_cur) / 4) : wanted;
}

void LeaderLinks::on_message(LinkId link, Message message) {
  if (pending_.erase(link) > 0) {  // the link lets nothing but a Join through first
    const Link& from = *links_.at(link);
    tell_(LeaderEvent(Arrived{
        link, from.peer_address(), from.local_address(), std::get<Join>(std::move(message))}));
  } else {
    tell_(LeaderEvent(Received{link, std::move(message)}));
  }
}

void LeaderLinks::on_lost(LinkId link, const std::string& why) {
  const auto at = links_.find(link);
  if (at == links_.end()) {
    return;
  }
  if (pending_.erase(link) > 0) {
    name_stranger(*at->second, why);
  } else {
    tell_(LeaderEvent(LinkLost{link, why}));
  }
  links_.erase(at);
}

void LeaderLinks::name_stranger(const Link& link, const std::string& why) {
  const std::string who = link.peer_address() + ": it " + why;
  if (strangers_.size() < kStrangersNamed && strangers_.insert(who).second) {
    say_warning("refused a connection from " + who +
                (strangers_.size() == kStrangersNamed ? "; further ones are not named" : ""));
  }
}

}  // namespace muster::gang
