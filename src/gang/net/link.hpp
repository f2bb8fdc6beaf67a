#pragma once

// Sends and receives the messages of one connection between two agents.

#include "gang/net/channel.hpp"
#include "gang/protocol/messages.hpp"
#include "gang/protocol/roster.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace muster::gang {

// Descriptions of how a link ended. They complete a sentence about the other end.

/// "closed the connection".
std::string describe_end(const boost::system::error_code& error);

/// True for "has another token": the two ends have different tokens.
bool concerns_token(std::string_view why);

/// "sent no join within 2.5 s".
std::string describe_missing_join(std::chrono::milliseconds limit);

/// Time limit from a connection to its first message, the join. It is extended once if bytes have arrived that the
/// leader has not had the time to read.
inline constexpr std::chrono::milliseconds kJoinLimit{10'000};
/// Send-queue limits for an agent that does not read: for control messages; for chunks and shared frames; for answers
/// to heartbeats, of which a correct agent needs only a few per second.
inline constexpr std::size_t kMostQueuedBytes = std::size_t{4} << 20U;
inline constexpr std::size_t kMostBulkBytes = 2 * kMostValueBytes;
inline constexpr std::size_t kMostQueuedHeartbeats = 1'000;

/// Gets the events of its links, by their numbers, and outlives them.
class LinkOwner {
 public:
  virtual ~LinkOwner() = default;

  virtual void on_message(LinkId link, Message message) = 0;
  /// The link is lost. Called at most once and last, never from within a call to the link. `why` completes a sentence
  /// about the other end: "closed the connection", "has another token".
  virtual void on_lost(LinkId link, const std::string& why) = 0;
  /// The other end has sent something before its join; called only on the leader. The link is established if the
  /// other end has proved that it has the key, or if there is no key.
  virtual void on_bytes_before_join(LinkId /*link*/, bool /*is_established*/) {}
  /// The connection is closed, after `close_when_sent`. Never called from within a call to the link.
  virtual void on_closed(LinkId /*link*/) {}
};

/// A connection on the thread of its socket's `io_context`. An idle link has no buffer and no timer: a leader has
/// thousands.
///
/// May be destroyed at any time, also by its owner in an event; no event follows. Without `close_when_sent` queued
/// messages are then lost.
class Link {
 public:
  using Side = gang::Side;

  /// Takes a connected socket. Without a key the link is plain; the key is not needed afterwards.
  Link(boost::asio::ip::tcp::socket socket, const GangKey* key, Side side, LinkOwner& owner, LinkId number = kOwnLink);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// Starts to read. On the leader the first message must be a join and arrive within `join_limit`.
  void start(std::chrono::milliseconds join_limit = kJoinLimit);

  /// Writes what the socket takes and queues the rest. A queue above kMostQueuedBytes ends the link. A heartbeat
  /// overtakes chunks of values.
  void send(const Message& message);
  /// Sends a message that many links share: it is encoded, framed and stored once.
  void send_shared(const std::shared_ptr<const std::string>& frame);

  /// Closes the link once the queue is written, or after a few seconds if the other end does not read. Only
  /// `on_closed` is called afterwards. The link may be destroyed at once; closing goes on.
  void close_when_sent();
  /// Resets the connection at once, so that neither this process nor the kernel keeps any state. No event follows.
  void reset();

  /// Numeric, without port. An IPv4-mapped address is given as IPv4.
  std::string peer_address() const;
  std::string local_address() const;

 private:
  class Connection;
  std::shared_ptr<Connection> connection_;  ///< shared with pending operations
};

}  // namespace muster::gang
