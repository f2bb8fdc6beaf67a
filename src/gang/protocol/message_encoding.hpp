#pragma once

// Encodes and decodes messages as JSON. Pure: no socket.

#include "base/result.hpp"
#include "gang/protocol/messages.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::gang {

/// Limit of an encoded message in bytes. Larger values travel in chunks.
inline constexpr std::size_t kMostMessageBytes = std::size_t{256} << 10U;
/// Limit of one node's status report in bytes.
inline constexpr std::size_t kMostStatusBytes = std::size_t{128} << 10U;
/// Limit of a `Join` in bytes, which any peer may send: the facts of the job, and names.
inline constexpr std::size_t kMostJoinBytes = std::size_t{64} << 10U;
/// Limit of the keys under which a node contributes before the start.
inline constexpr std::size_t kMostKeys = 64;
/// Limit of the facts of a job in bytes, with the other fields empty.
inline constexpr std::size_t kMostFactsBytes = std::size_t{32} << 10U;
/// Limits of roles, and of endpoints in task lists: further ones are neither sent nor compared.
inline constexpr std::size_t kMostRoles = 64;
inline constexpr std::size_t kMostEndpoints = 512;

/// Encodes a message. Texts are made valid UTF-8 and are shortened to fit the limits.
std::string encode(const Message& message);

/// Returns the facts in the form in which the other end of a link decodes them: valid UTF-8, short, single lines.
/// Send and compare them only in this form. A job of one node sends none, and its facts stay unchanged.
JobFacts normalized(JobFacts job);

/// Decodes a message. Fails with `BadData`, naming the field that is missing, of the wrong type or out of range.
/// Unknown fields are ignored, unknown messages are errors.
[[nodiscard]] Result<Message> decode(std::string_view bytes);

/// Returns the message's name in the protocol, such as "join".
const char* name_of(const Message& message);

}  // namespace muster::gang
