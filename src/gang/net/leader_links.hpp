#pragma once

// Opens the leader's port, accepts connections, and tells the job's agents from other peers. Also dials the leader
// from an agent.

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
#include <variant>

namespace muster::gang {

using Event = std::variant<LeaderEvent, ParticipantEvent>;

/// Queues the events of links, which are handled in a later turn of the loop.
class EventQueue {
 public:
  virtual ~EventQueue() = default;

  virtual void add(Event event) = 0;
};

/// All links of the leader but its own. None exists before `open`.
class LeaderLinks : public LinkOwner {
 public:
  /// `key` must outlive this object; without one the links are plain. At most `most_strangers` links do not belong to
  /// the job. `events` gets those of the links.
  LeaderLinks(boost::asio::io_context& io, const GangKey* key, std::size_t most_strangers, EventQueue& events)
      : io_(io), key_(key), events_(events), budget_(most_strangers), numbers_timer_(io) {}

  /// Listens on the port until destruction. Fails if the port cannot be had.
  std::optional<ListenFailure> open(std::uint16_t port);

  /// Sends to those links that still exist: the loss of the others was reported already. An admitted link no longer
  /// counts against the budget.
  void send(const SendTo& wanted);
  /// Closes the link once everything is sent.
  void drop(LinkId link);
  /// Logs the last counts of rejected connections, and logs none later: the final report of the job is next.
  void stop_logging();

 private:
  enum class Stage {
    Stranger,  ///< has not joined
    Guest,     ///< has joined, and the leader has not decided yet
    Member,
    Leaving  ///< has been sent the last message
  };
  struct Entry {
    std::unique_ptr<Link> link;
    std::string source_prefix;
    Stage stage = Stage::Stranger;
    bool was_member = false;
  };

  void on_accept(boost::asio::ip::tcp::socket socket);
  void on_message(LinkId link, Message message) override;
  void on_lost(LinkId link, const std::string& why) override;
  void on_bytes_before_join(LinkId link, bool is_established) override;
  void on_closed(LinkId link) override { erase(link); }
  void admit(LinkId link, Entry& entry);
  void erase(LinkId link);
  void turn_away_excess();
  void turn_away(LinkId link);
  void note_stranger(const std::string& peer, const std::string& why);
  void arm_numbers();
  void log_counts();

  boost::asio::io_context& io_;
  const GangKey* key_;
  EventQueue& events_;
  std::unique_ptr<Listener> listener_;
  std::unordered_map<LinkId, Entry> links_;
  LinkBudget budget_;  ///< of all links but members
  LinkId next_link_ = kOwnLink + 1;
  RejectedConnectionLog refused_;
  boost::asio::steady_timer numbers_timer_;
  bool is_armed_ = false;
  bool is_quiet_ = false;
  bool was_plain_logged_ = false;
};

// An agent's side of its link to the leader: one dial after the other, one link at a time.

class LinkToLeader : public LinkOwner {
 public:
  /// `key` must outlive this object; without one the link is plain. `events` gets the results of dials and the
  /// events of the link.
  LinkToLeader(boost::asio::io_context& io, const GangConfig& config, const GangKey* key, EventQueue& events);

  /// Calls back once, later: true if the leader's address is one of this machine.
  void check_is_this_leader(std::function<void(bool)> answer);
  /// Finds out whether the leader's address belongs to another machine, and then calls back with a remark for people.
  /// For the leader by rank. Resolves a name in a thread; without a thread, or after `forget`, nothing happens.
  void check_is_elsewhere(std::function<void(std::string remark)> on_elsewhere);
  void forget();
  void connect();

  /// Does nothing without a link.
  void send(const Message& message);
  /// Closes the link once everything is sent.
  void close_link();
  /// Closes the link, or cancels the running dial.
  void give_up();

 private:
  void on_connected(boost::asio::ip::tcp::socket socket);
  std::string describe(const DialFailure& failure) const;
  void on_message(LinkId /*link*/, Message message) override {
    events_.add(ParticipantEvent(FromLeader{std::move(message)}));
  }
  void on_lost(LinkId link, const std::string& why) override;

  std::string host_;
  std::string host_from_;  ///< source of the host's name
  std::uint16_t port_;
  bool has_other_leader_;  ///< this node has a rank, and another rank leads
  const GangKey* key_;
  EventQueue& events_;
  Resolver resolver_;
  Dialer dialer_;
  std::unique_ptr<Link> link_;
};

}  // namespace muster::gang
