// Joins at the leader's address as one more node 0: the leader there, if it is of the same job, says who it is. The
// platform may start this node before that leader, so a failed dial is tried again, ever less often.
#include "gang/net/other_leader.hpp"

#include "base/endpoint.hpp"
#include "base/log.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace muster::gang {

OtherLeader::OtherLeader(boost::asio::io_context& io, const GangConfig& config, const GangKey* key,
                         const std::string& incarnation, std::string remark)
    : io_(io),
      address_(join_endpoint(config.host, std::to_string(config.port))),
      link_(io, config, key, *this),
      timer_(io),
      remark_(std::move(remark)) {
  join_.version = config.version;
  join_.job = config.job;
  join_.node = config.node;
  join_.incarnation = incarnation;
  constexpr std::chrono::seconds kQuickAnswer{1};
  timer_.expires_after(kQuickAnswer);
  timer_.async_wait([this, alive = std::weak_ptr(alive_)](const boost::system::error_code& error) {
    if (!error && !alive.expired()) {
      say_remark();
    }
  });
  link_.connect();
}

void OtherLeader::say_remark() {
  if (!remark_.empty()) {
    log_info(std::exchange(remark_, ""));
  }
}

void OtherLeader::add(Event event) {
  boost::asio::post(io_, [this, alive = std::weak_ptr(alive_), event = std::move(event)] {
    if (!alive.expired()) {
      handle(std::get<ParticipantEvent>(event));
    }
  });
}

void OtherLeader::handle(const ParticipantEvent& event) {
  if (std::holds_alternative<LinkUp>(event)) {
    link_.send(join_);
    return;
  }
  if (const auto* const answer = std::get_if<FromLeader>(&event)) {
    link_.close_link();
    const auto* const refused = std::get_if<Refused>(&answer->message);
    if (refused != nullptr && !refused->may_retry) {
      log_warning("another node 0 leads at " + address_ + ", and refused this one: " + refused->reason +
                  "; give each node its own --node-rank");
    }
  }
  say_remark();
  if (std::holds_alternative<DialFailed>(event)) {
    constexpr std::chrono::seconds kLongestPause{30};
    timer_.expires_after(pause_);
    pause_ = std::min(2 * pause_, kLongestPause);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (!error) {
        link_.connect();
      }
    });
  }
}

}  // namespace muster::gang
