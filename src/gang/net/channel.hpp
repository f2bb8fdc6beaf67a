#pragma once

// Protects the bytes of a link: not at all, or with TLS 1.3 and the job's key. Takes and returns bytes without a
// socket, so that callers and tests treat both kinds alike.

#include "base/result.hpp"
#include "gang/net/token.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace muster::gang {

enum class Side {
  Leader,  ///< accepted the connection; the TLS server
  Agent    ///< dialled; the TLS client
};

/// One end of a link. An error is final, has the kind `BadData`, and completes a sentence about the other end ("has
/// another token"). After an error only `take_outgoing` may be called: it may return an alert that tells the other
/// end the cause.
class Channel {
 public:
  virtual ~Channel() = default;

  /// Takes bytes from the wire, split anywhere, and returns the plaintext so far. May have something to send
  /// afterwards.
  [[nodiscard]] virtual Result<std::string> receive(std::string_view wire) = 0;

  /// Queues bytes for the other end until the link is established.
  virtual void send(std::string_view plaintext) = 0;

  /// Returns bytes to be written to the wire. Call it after construction, and after `receive` and `send`.
  virtual std::string take_outgoing() = 0;

  /// True once the other end has proved that it has the key. A plain channel is always established.
  virtual bool is_established() const = 0;
};

/// Creates a channel. Without a key, bytes travel unencrypted, everyone who dials is trusted, and OpenSSL is not
/// used. The key need not outlive the call.
std::unique_ptr<Channel> make_channel(const GangKey* key, Side side);

// Functions for all files that use OpenSSL.

/// Initializes OpenSSL. Must precede any other use of OpenSSL; may be called repeatedly. Reads no configuration of
/// the machine, which must not influence a job, and registers nothing for exit.
void start_openssl();

/// Describes OpenSSL's last error, for a bug report.
std::string openssl_error();

// First bytes of a link, for channel.cpp and its tests.

/// The first byte tells the kind of a link: a frame of a plain link is shorter than 16 MiB, so its first byte is 0;
/// TLS begins with a handshake or an alert.
inline constexpr char kFirstOfPlain = 0x00;
inline constexpr char kFirstOfHandshake = 0x16;
inline constexpr char kFirstOfAlert = 0x15;

}  // namespace muster::gang
