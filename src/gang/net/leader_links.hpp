#pragma once

// The leader's side of the links: opens the port, accepts whoever comes, and sorts agents from strangers.

#include "gang/net/dialer.hpp"
#include "gang/net/link.hpp"
#include "gang/net/listener.hpp"
#include "gang/net/resolver.hpp"
#include "gang/protocol/leader.hpp"
#include "gang/protocol/link_budget.hpp"
#include "gang/protocol/participant.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

namespace muster::gang {

/// All links but the leader's own. None exists before `open`.
class LeaderLinks {
 public:
  /// `key` outlives this; without one the links are plain. At most `most_strangers` do not belong to the job.
  /// `tell` hears what the links bring.
  LeaderLinks(boost::asio::io_context& io, const GangKey* key, std::size_t most_strangers,
              std::function<void(LeaderEvent)> send)
      : io_(io), key_(key), tell_(std::move(send)), budget_(most_strangers), numbers_timer_(io) {}

  /// Fails when the port cannot be had. It stays open.
  [[nodiscard]] std::optional<ListenFailure> open(std::uint16_t port);

  /// Sends to those of the links that are here. A link that is gone has been told of. Who is admitted is no stranger.
  void send(const SendTo& wanted);
  /// Closes the link once everything is sent.
  void drop(LinkId link);
  /// Says what is left to say of strangers, and nothing more: the last words of the job are due.
  void fall_silent();

 private:
  enum class Stage {
    Stranger,  ///< it has not joined
    Guest,     ///< it has, and the leader has not said yet whether it may stay
    Member,
    Leaving  ///< it has been told the last word
  };
  struct Entry {
    std::unique_ptr<Link> link;
    std::string source_prefix;
    Stage stage = Stage::Stranger;
    bool was_member = false;
  };

  void on_accept(boost::asio::ip::tcp::socket socket);
  void on_message(LinkId link, Message message);
  void on_lost(LinkId link, const std::string& why);
  void admit(LinkId link, Entry& entry);
  void erase(LinkId link);
  void turn_away_excess();
  void turn_away(LinkId link);
  void note_stranger(const std::string& peer, const std::string& why);
  void arm_numbers();
  void log_counts();

  boost::asio::io_context& io_;
  const GangKey* key_;
  std::function<void(LeaderEvent)> tell_;
  std::unique_ptr<Listener> listener_;
  std::unordered_map<LinkId, Entry> links_;
  LinkBudget budget_;  ///< all but members
  LinkId next_link_ = kOwnLink + 1;
  RejectedConnectionLog refused_;
  boost::asio::steady_timer numbers_timer_;
  bool is_armed_ = false;
  bool is_quiet_ = false;
};

// An agent's side of its link to the leader: one dial after the other, one link at a time.

class LinkToLeader {
 public:
  /// `key` outlives this; without one the link is plain. `tell` hears how a dial ended and what the
  /// link brings.
  LinkToLeader(boost::asio::io_context& io, const GangConfig& policy, const GangKey* key,
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
  void close_link();
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
