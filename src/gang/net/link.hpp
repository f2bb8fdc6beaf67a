#pragma once

// One connection between two agents: messages in, messages out.

#include "gang/net/channel.hpp"
#include "gang/protocol/messages.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace muster::gang {

// What became of a link, in words that read behind the other end's name.

/// "closed the connection".
[[nodiscard]] std::string describe_end(const boost::system::error_code& error);

/// It is the token that keeps the two ends apart: "has another token".
[[nodiscard]] bool concerns_token(std::string_view why);

/// "sent no join within 2.5 s".
[[nodiscard]] std::string describe_missing_join(std::chrono::milliseconds limit);

/// How long a connection may take until its first message, the join, is here. One whose bytes are
/// here and wait for the leader to read them gets that time once more.
inline constexpr std::chrono::milliseconds kJoinLimit{10'000};
/// Limits of what waits for an agent that does not read: words of its own; pieces of values with what other links are
/// sent too; answers to its heartbeats, which an honest agent sends a few times in a second at most.
inline constexpr std::size_t kMostQueuedBytes = std::size_t{4} << 20U;
inline constexpr std::size_t kMostBulkBytes = 2 * kMostValueBytes;
inline constexpr std::size_t kMostQueuedBeats = 1'000;

/// A link lives on one thread, that of its socket's `io_context`. An idle one has no buffer and no timer:
/// there are thousands of them at a leader.
///
/// It may be destroyed at any time, also in its own callbacks; nothing is called afterwards. Without
/// `close_when_sent` what is still queued is lost then.
class Link {
 public:
  using Side = gang::Side;

  /// Takes a connected socket. Without a key the link is plain; the key is not needed afterwards.
  Link(boost::asio::ip::tcp::socket socket, const GangKey* key, Side side);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // To be set before `start`, which takes them.

  std::function<void(Message)> on_message;
  /// At most once, never from within a call to the link, and nothing is called after it. `why` reads
  /// behind the other end's name: "closed the connection", "has another token".
  std::function<void(const std::string& why)> on_lost;
  /// On the leader's side, before the join: the other end has sent something. The link is established where it has
  /// proved that it has the key, or none is needed.
  std::function<void(bool is_established)> on_sign;
  /// After `close_when_sent`: the connection is closed. Never from within a call to the link.
  std::function<void()> on_closed;

  /// Reads from here on. On the leader's side the first message must be a join, and come in time.
  void start(std::chrono::milliseconds join_limit = kJoinLimit);

  /// Writes what the socket takes and queues the rest. More than kMostQueuedBytes lose the link.
  /// A beat overtakes pieces of values.
  void send(const Message& message);
  /// The same for a message that many links are sent: encoded and framed once, and held once.
  void send_shared(const std::shared_ptr<const std::string>& frame);

  /// Closes the link once the queue is written, or after a few seconds if the other end takes
  /// nothing. Of the callbacks only `on_closed` is called. The link may be destroyed at once: this goes on.
  void close_when_sent();
  /// Closes it now, and the other end hears of it at once: nothing of it is left here, or in the kernel. No
  /// callback is called any more.
  void reset();

  /// Numeric, without port; version 4 as such where it came mapped into version 6.
  [[nodiscard]] std::string peer_address() const;
  [[nodiscard]] std::string local_address() const;

 private:
  class Connection;
  std::shared_ptr<Connection> connection_;  ///< shared with what it waits for
};

}  // namespace muster::gang
