#pragma once

// An agent's side of its link to the leader: one dial after the other, one link at a time.

#include "gang/net/dialer.hpp"
#include "gang/protocol/participant.hpp"
#include "gang/net/link.hpp"
#include "gang/net/resolver.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <string>

namespace muster::gang {

class LinkToLeader {
 public:
  /// `key` outlives this; without one the link is plain. `tell` hears how a dial ended and what the
  /// link brings.
  LinkToLeader(boost::asio::io_context& io,
               const GangConfig& policy,
               const GangKey* key,
               std::function<void(ParticipantEvent)> send);

  /// Whether the leader's address is one of this machine. Calls back once, later.
  void check_is_this_leader(std::function<void(bool)> answer);
  /// For a leader by its rank: calls back with a sentence if that address is not one of this machine. A name
  /// is looked up aside: where that is not possible, or until `forget`, nobody hears of it.
  void check_is_elsewhere(std::function<void(const std::string&)> answer);
  void forget();
  void connect();

  /// Without a link nothing is sent.
  void send(const Message& message);
  /// Closes the link once everything is sent.
  void hang_up();
  /// Hangs up, or ends the dial that is under way.
  void give_up();

 private:
  void on_connected(boost::asio::ip::tcp::socket socket);

  std::string host_;
  std::string host_from_;  ///< who says so
  std::uint16_t port_;
  const GangKey* key_;
  std::function<void(ParticipantEvent)> tell_;
  Resolver resolver_;
  Dialer dialer_;
  std::unique_ptr<Link> link_;
};

}  // namespace muster::gang
