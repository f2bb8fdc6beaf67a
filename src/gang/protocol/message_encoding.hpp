#pragma once

// Messages as JSON, and back. Texts in, texts out: no socket.

#include "base/result.hpp"
#include "gang/protocol/messages.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::gang {

/// The most bytes of any encoded message. What may be larger goes in pieces.
inline constexpr std::size_t kMostMessageBytes = std::size_t{256} << 10U;
/// Of what one node says of its workers.
inline constexpr std::size_t kMostStatusBytes = std::size_t{128} << 10U;
/// Of a `Join`, which a stranger may send: what the job's nodes agree on, and names.
inline constexpr std::size_t kMostJoinBytes = std::size_t{64} << 10U;
/// Keys under which a node contributes before the start.
inline constexpr std::size_t kMostKeys = 64;
/// Of its facts of the job, with the empty rest.
inline constexpr std::size_t kMostFactsBytes = std::size_t{32} << 10U;
/// Roles of a job, and endpoints in its task lists: what comes after them is neither sent nor compared.
inline constexpr std::size_t kMostRoles = 64;
inline constexpr std::size_t kMostEndpoints = 512;

/// The message as JSON. Texts are made valid UTF-8 and so short that the whole fits the limits.
[[nodiscard]] std::string encode(const Message& message);

/// The facts as the other end of a link reads them: texts are valid UTF-8, short, one line. To be sent
/// and compared in this form. Those of a job of one node, which are told to nobody, stay as they are.
[[nodiscard]] JobFacts normalized(JobFacts job);

/// Reads a message. Fails with `BadData`, saying which field is missing, of the wrong kind or out
/// of range. Unknown fields are ignored, unknown messages are not.
[[nodiscard]] Result<Message> decode(std::string_view bytes);

/// The name of the message on the wire, such as "join".
[[nodiscard]] const char* name_of(const Message& message);

}  // namespace muster::gang
