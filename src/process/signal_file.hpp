#pragma once

#include <csignal>
#include <vector>

namespace muster {

/// A descriptor from which these signals, which are blocked, are read. The caller owns it. Throws what Asio throws where the
/// system refuses a descriptor: without it no job can be run.
[[nodiscard]] int open_signalfd(const sigset_t& signals);

/// What is pending there, without waiting; each standard signal once at most. What comes while its reader acts on these is for
/// the next turn of its loop: children that die faster than one can look at them would keep it from all else.
[[nodiscard]] std::vector<int> read_signals(int file);

}  // namespace muster
