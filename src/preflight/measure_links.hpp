#pragma once

// Measures the links between this node and its partners, for --preflight links.

#include "base/file_io.hpp"
#include "gang/link_check.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace muster::preflight {

/// A pair sends for this time in both directions at once.
inline constexpr std::chrono::milliseconds kLinkTransferTime{150};

struct LinkListener {
  UniqueFd socket;
  std::uint16_t port = 0;
};

/// Listens at this numeric address, at a free port of this range. Empty: the address is not this node's, or no port is free.
std::optional<LinkListener> listen_for_links(const std::string& address, std::uint16_t least, std::uint16_t most);

/// Takes the steps, each in its round, the first of which began at `begin`, and blocks until the last one has ended. Whoever connects to `listener` without `key`
/// is sent nothing. Not for a process with other work.
gang::LinkResults measure_links(int listener, const std::string& key, const gang::LinkPlan& plan,
                                std::chrono::steady_clock::time_point begin);

}  // namespace muster::preflight
