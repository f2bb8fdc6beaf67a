#pragma once

// Connects a node with its partners of all rounds, for --preflight links. Both ends of a connection prove to each other that
// they know the key of the one that listens. Before that they send nothing of value, and the key itself is never sent.

#include "base/file_io.hpp"
#include "gang/link_check.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace muster::preflight {

struct LinkListener {
  UniqueFd socket;
  std::uint16_t port = 0;
};

/// Listens at this numeric address, at a free port of this range. Empty: the address is not this node's, or no port is free.
std::optional<LinkListener> listen_for_links(const std::string& address, std::uint16_t least, std::uint16_t most);

/// The time until `end` in milliseconds, rounded up, as poll(2) takes it; 0: it is over.
int time_left(std::chrono::steady_clock::time_point end);

/// Connects this node with its partners, one in each round of the measurement. Keeps few connections, however many
/// strangers connect; if one must be closed, it is a stranger's and not a partner's.
class LinkMeeting {
 public:
  using Clock = std::chrono::steady_clock;

  /// Partners need `key` to connect to `listener`. This node was asked at `begin`. The listener and the plan outlive it.
  LinkMeeting(int listener, std::string key, const gang::LinkPlan& plan, Clock::time_point begin);

  /// Connects to and accepts partners of all open rounds until `end`.
  void run_until(Clock::time_point end);
  /// Does the same, but only until the partner of this round is connected. Returns this connection, and closes the round.
  /// Empty: the partner has not come by `end`.
  UniqueFd meet(std::size_t round, Clock::time_point end);
  /// True if no partner with the key has come although this node was there in time, or if the partner's kernel has
  /// accepted no connection. So a partner is not silent if only its process is late.
  bool is_silent(std::size_t round) const;

 private:
  /// The next event or message that a connection waits for.
  enum class Stage {
    Connected,
    Hello,
    Answer,
    Last
  };
  struct Peer {
    UniqueFd socket;
    Stage stage = Stage::Hello;
    std::optional<std::size_t> round{};  ///< empty: the other end has not told it yet
    std::string nonces{};                ///< random texts: of the end that connects, and of the one that listens
    std::string got{};                   ///< bytes of the message that it waits for
    Clock::time_point until{};           ///< end of this try; only in stage `Connected`
  };
  struct Round {
    UniqueFd partner{};
    bool was_reached = false;  ///< a partner with the key has come, or a connection was made
    bool is_trying = false;
    int tries = 0;
    Clock::time_point first_try{};
    Clock::time_point next_try{};
  };

  void turn(Clock::time_point end);
  bool connects_in(std::size_t round) const;
  void begin_tries();
  Clock::time_point next_due(Clock::time_point end) const;
  void begin_try(std::size_t round);
  // The five functions below return false if the connection is of no use: it has failed, or its other end has not proved that it
  // knows the key. `turn` then gives this connection up.

  /// Goes on with a connection on which something has happened.
  bool serve(Peer& peer);
  /// A connection of this node has been made: sends the first message.
  bool greet(Peer& peer);
  bool take_hello(Peer& peer);
  bool take_answer(Peer& peer);
  bool take_last(Peer& peer);

  void accept_some();
  void drop_oldest_stranger();
  void give_up(const Peer& peer);

  int listener_;
  std::string key_;
  const gang::LinkPlan& plan_;
  bool was_in_time_;
  std::vector<Round> rounds_;
  std::size_t first_open_ = 0;  ///< rounds before it are closed
  std::vector<Peer> peers_;     ///< the oldest one first
  std::size_t strangers_ = 0;   ///< connections that have come and have shown no key
};

}  // namespace muster::preflight
