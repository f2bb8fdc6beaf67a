#pragma once

// Private to gang/: see muster/gang/channel.hpp.

#include "gang/net/channel.hpp"

#include <memory>

namespace muster::gang {

/// What the first byte of a link tells: a frame of a plain one is shorter than 16 MiB, so its first
/// byte is 0; TLS begins with a handshake or an alert.
inline constexpr char kFirstOfPlain = 0x00;
inline constexpr char kFirstOfHandshake = 0x16;
inline constexpr char kFirstOfAlert = 0x15;

[[nodiscard]] std::unique_ptr<Channel> make_tls_channel(const GangKey& key, Side side);

}  // namespace muster::gang
