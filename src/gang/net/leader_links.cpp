// Manages the leader's links to agents and to peers that have not joined yet, and an agent's link to its leader.
#include "gang/net/leader_links.hpp"

#include "base/frame.hpp"
#include "base/log.hpp"
#include "environment/local_host.hpp"
#include "gang/protocol/message_encoding.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace muster::gang {
namespace {

using boost::asio::ip::tcp;
using Clock = std::chrono::steady_clock;
using Trust = LinkBudget::Trust;

}  // namespace

std::optional<ListenFailure> LeaderLinks::open(std::uint16_t port) {
  if (listener_) {
    return std::nullopt;
  }
  listener_ = TRY(Listener::open(io_, port));
  listener_->on_accept = [this](tcp::socket socket) { on_accept(std::move(socket)); };
  listener_->start();
  return std::nullopt;
}

void LeaderLinks::send(const SendTo& wanted) {
  std::shared_ptr<const std::string> framed;
  for (const LinkId link : wanted.links) {
    const auto at = links_.find(link);
    if (at == links_.end()) {
      continue;  // the leader's own link, or a lost one whose loss is queued
    }
    if (std::holds_alternative<Admitted>(wanted.message)) {
      admit(link, at->second);
    }
    if (wanted.links.size() == 1) {
      at->second.link->send(wanted.message);
      continue;
    }
    if (!framed) {
      framed = std::make_shared<const std::string>(frame(encode(wanted.message)));
    }
    at->second.link->send_shared(framed);
  }
}

void LeaderLinks::admit(LinkId link, Entry& entry) {
  if (!std::exchange(entry.was_member, true)) {
    budget_.note_member(entry.source_prefix);
  }
  // Logged only when the first node comes: until then, lines about why no node comes are more important.
  if (key_ == nullptr && !std::exchange(was_plain_logged_, true)) {
    log_info(
        "the links between the nodes are not encrypted: whoever reaches this port can take a seat, "
        "end the job or feign its success (--token-file; 'muster token' makes one)");
  }
  budget_.remove(link);
  entry.stage = Stage::Member;
}

void LeaderLinks::drop(LinkId link) {
  const auto at = links_.find(link);
  if (at == links_.end()) {
    return;
  }
  Entry& entry = at->second;
  if (entry.stage == Stage::Guest) {
    refused_.count(entry.link->peer_address(), Clock::now());
    arm_numbers();
  } else if (entry.stage == Stage::Member) {
    budget_.add(link, entry.source_prefix, Trust::Active);
  }
  entry.stage = Stage::Leaving;
  entry.link->close_when_sent();
  turn_away_excess();
}

void LeaderLinks::erase(LinkId link) {
  const auto taken = links_.extract(link);
  if (taken.empty()) {
    return;
  }
  budget_.remove(link);
  if (taken.mapped().was_member) {
    budget_.forget_member(taken.mapped().source_prefix);
  }
}

void LeaderLinks::on_accept(tcp::socket socket) {
  const LinkId link = next_link_++;
  boost::system::error_code ignored;  // a broken socket fails when it is read
  std::string source_prefix = source_prefix_of(unmapped(socket.remote_endpoint(ignored).address()));
  const Trust trust = socket.available(ignored) > 0 ? Trust::Active : Trust::None;
  auto made = std::make_unique<Link>(std::move(socket), key_, Link::Side::Leader, *this, link);
  Link& started = *made;
  budget_.add(link, source_prefix, trust);
  links_.emplace(link, Entry{std::move(made), std::move(source_prefix)});
  started.start();
  turn_away_excess();
}

void LeaderLinks::on_bytes_before_join(LinkId link, bool is_established) {
  budget_.raise(link, is_established && key_ != nullptr ? Trust::Authenticated : Trust::Active);
}

void LeaderLinks::turn_away_excess() {
  while (const auto link = budget_.excess()) {
    turn_away(*link);
  }
}

/// Closes a link that is one too many, by a TCP reset: so no state is left in the kernel.
void LeaderLinks::turn_away(LinkId link) {
  const Entry& entry = links_.at(link);
  if (entry.stage != Stage::Leaving) {  // a leaving link was counted, or belonged to the job
    refused_.count(entry.link->peer_address(), Clock::now());
    arm_numbers();
  }
  if (entry.stage == Stage::Guest) {
    events_.add(LeaderEvent(LinkLost{link, "was one of too many that wait for a seat"}));
  }
  entry.link->reset();
  erase(link);
}

void LeaderLinks::on_message(LinkId link, Message message) {
  Entry& entry = links_.at(link);
  if (entry.stage != Stage::Stranger) {
    events_.add(LeaderEvent(Received{link, std::move(message)}));
    return;
  }
  entry.stage = Stage::Guest;  // the link accepts only a Join as the first message
  events_.add(LeaderEvent(
      Joined{link, entry.link->peer_address(), entry.link->local_address(), std::get<Join>(std::move(message))}));
}

void LeaderLinks::on_lost(LinkId link, const std::string& why) {
  const auto at = links_.find(link);
  if (at == links_.end()) {
    return;
  }
  if (at->second.stage == Stage::Stranger) {
    note_stranger(at->second.link->peer_address(), why);
  } else {
    events_.add(LeaderEvent(LinkLost{link, why}));
  }
  erase(link);
}

// --- Messages about rejected peers --------------------------------------------------------------

void LeaderLinks::note_stranger(const std::string& peer, const std::string& why) {
  const std::string text = refused_.note(peer, why, Clock::now());
  if (!text.empty() && !is_quiet_) {
    log_warning(text);
  }
  arm_numbers();
  if (concerns_token(why)) {
    events_.add(LeaderEvent(AuthFailed{peer, why}));
  }
}

void LeaderLinks::arm_numbers() {
  const auto wake = refused_.next_wake();
  if (!wake || is_quiet_ || std::exchange(is_armed_, true)) {
    return;
  }
  numbers_timer_.expires_at(*wake);
  numbers_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) {
      is_armed_ = false;
      log_counts();
    }
  });
}

void LeaderLinks::log_counts() {
  if (const std::string text = refused_.summary(Clock::now()); !text.empty()) {
    log_warning(text);
  }
}

void LeaderLinks::stop_logging() {
  numbers_timer_.cancel();
  log_counts();
  is_quiet_ = true;
}

// An agent's link to the leader, and the dials before it.

namespace {

/// Names the first few addresses of a host: ", which is 10.0.0.9".
std::string which_is(const Resolver::Addresses& addresses, const std::string& name) {
  constexpr std::size_t kMost = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(addresses.size(), kMost); ++i) {
    text += (i == 0 ? "" : ", ") + addresses[i].to_string();
  }
  return text == name ? "" : ", which is " + text;
}

}  // namespace

LinkToLeader::LinkToLeader(boost::asio::io_context& io, const GangConfig& config, const GangKey* key,
                           EventQueue& events)
    : host_(config.host),
      host_from_(config.host_from),
      port_(config.port),
      has_other_leader_(config.node.rank && config.node.rank->value > 0),
      key_(key),
      events_(events),
      resolver_(io),
      dialer_(io) {}

void LinkToLeader::check_is_this_leader(std::function<void(bool)> answer) {
  resolver_.resolve(host_, [answer = std::move(answer)](const auto& addresses) {
    answer(addresses && std::ranges::any_of(*addresses, is_own));
  });
}

void LinkToLeader::check_is_elsewhere(std::function<void(std::string remark)> on_elsewhere) {
  resolver_.resolve_optional(host_, [this, on_elsewhere = std::move(on_elsewhere)](const auto& addresses) {
    if (addresses && std::none_of(addresses->begin(), addresses->end(), is_own)) {
      on_elsewhere(host_from_ + " is '" + host_ + "'" + which_is(*addresses, host_) +
                   ": no address of this host, which leads and listens; the other nodes find this host only if that "
                   "address leads here, as the address of a Service does");
    }
  });
}

void LinkToLeader::forget() {
  resolver_.cancel();
}

void LinkToLeader::give_up() {
  dialer_.cancel();
  close_link();
}

void LinkToLeader::connect() {
  dialer_.dial(host_, port_, [this](boost::system::result<tcp::socket, DialFailure> socket) {
    if (socket) {
      on_connected(std::move(*socket));
    } else {
      events_.add(ParticipantEvent(DialFailed{describe(socket.error())}));
    }
  });
}

/// Describes a failed dial, with a hint if node 0 may have to be started on this host, as when somebody tries a job.
std::string LinkToLeader::describe(const DialFailure& failure) const {
  const bool is_here = has_other_leader_ && failure.is_here && !is_loopback(host_);
  return failure.text +
         (is_here ? ", which is this host; " + host_from_ + " must name the host of node 0, and this is another node"
                  : "");
}

void LinkToLeader::on_connected(tcp::socket socket) {
  link_ = std::make_unique<Link>(std::move(socket), key_, Link::Side::Agent, *this);
  link_->start();
  events_.add(ParticipantEvent(LinkUp{}));
}

void LinkToLeader::on_lost(LinkId /*link*/, const std::string& why) {
  link_.reset();
  events_.add(ParticipantEvent(LinkDown{why}));
}

void LinkToLeader::send(const Message& message) {
  if (link_) {
    link_->send(message);
  }
}

void LinkToLeader::close_link() {
  if (link_) {
    link_->close_when_sent();
    link_.reset();
  }
}

}  // namespace muster::gang
