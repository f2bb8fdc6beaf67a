#pragma once

// Messages as JSON, and back. Texts in, texts out: no socket.

#include "messages.hpp"

#include <muster/base/result.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::gang {

/// The most ports that all nodes together may have reserved, and the most nodes of a job in which some
/// are.
inline constexpr std::size_t kMostPortsOfJob = 65'536;
inline constexpr std::size_t kMostNodesWithPorts = 16'384;

/// The most bytes of any encoded message. A `Ports` needs as much: a node takes up to 90 bytes (an
/// address of version 6 with its interface) and 6 for each port.
inline constexpr std::size_t kMostMessageBytes = std::size_t{2} << 20U;
/// Of a message that is no `Ports`, so of whatever an agent may send.
inline constexpr std::size_t kMostWordBytes = std::size_t{256} << 10U;
/// Of a `Join`, which a stranger may send: what the job's nodes agree on, and the ports of one node.
inline constexpr std::size_t kMostJoinBytes = std::size_t{64} << 10U;
/// Of its facts of the job, with the empty rest.
inline constexpr std::size_t kMostFactsBytes = std::size_t{32} << 10U;
/// Roles of a job, and endpoints in its task lists: what comes after them is neither sent nor compared.
inline constexpr std::size_t kMostRoles = 64;
inline constexpr std::size_t kMostEndpoints = 512;

/// The message as JSON. Texts are made valid UTF-8 and so short that the whole fits the limits.
[[nodiscard]] std::string encode(const Message& message);

/// The facts as the other end of a link reads them: texts are valid UTF-8, short, one line. To be sent
/// and compared in this form.
[[nodiscard]] JobFacts as_sent(JobFacts job);

/// Reads a message. Fails with `BadData`, saying which field is missing, of the wrong kind or out
/// of range. Unknown fields are ignored, unknown messages are not.
[[nodiscard]] Result<Message> decode(std::string_view text);

/// What is too much in it to be sent; empty: nothing.
[[nodiscard]] std::string describe_excess(const Ports& ports);

/// The name of the message on the wire, such as "join".
[[nodiscard]] const char* name_of(const Message& message);

}  // namespace muster::gang
