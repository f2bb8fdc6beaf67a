#pragma once

// How the bytes of a link are protected: not at all, or with TLS 1.3 and the job's key. Bytes in,
// bytes out: no socket, so that both are one thing to their user and to the tests.

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

/// One end of a link. Errors are of kind `BadData`, read behind the name of the other end ("has
/// another token"), and are final: only `take_outgoing` may be called after one, since it may hold a
/// last word that lets the other end say what is wrong too.
class Channel {
 public:
  Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  virtual ~Channel() = default;

  /// Takes bytes of the wire, torn anywhere, and returns what they mean so far. May have something
  /// to send afterwards.
  [[nodiscard]] virtual Result<std::string> receive(std::string_view wire) = 0;

  /// Queues bytes for the other end; they wait until the link is established.
  virtual void send(std::string_view plaintext) = 0;

  /// Bytes to write to the wire. To be asked after construction and after each call above.
  [[nodiscard]] virtual std::string take_outgoing() = 0;

  /// The other end has proved that it has the key; a plain channel always is.
  [[nodiscard]] virtual bool is_established() const = 0;
};

/// Without a key bytes travel as they are, and whoever dials is believed. OpenSSL is not touched
/// then. The key must outlive the call only.
[[nodiscard]] std::unique_ptr<Channel> make_channel(const GangKey* key, Side side);

// What the files that use OpenSSL share.

/// To be called before anything else of OpenSSL, as often as one likes. It reads no configuration of
/// the machine, which is none of a job's business, and leaves nothing to do at exit.
void start_openssl();

/// What OpenSSL says about its last error, for a bug report.
[[nodiscard]] std::string openssl_error();

// Private to gang/: see muster/gang/channel.hpp.

/// What the first byte of a link tells: a frame of a plain one is shorter than 16 MiB, so its first
/// byte is 0; TLS begins with a handshake or an alert.
inline constexpr char kFirstOfPlain = 0x00;
inline constexpr char kFirstOfHandshake = 0x16;
inline constexpr char kFirstOfAlert = 0x15;

[[nodiscard]] std::unique_ptr<Channel> make_tls_channel(const GangKey& key, Side side);

}  // namespace muster::gang
