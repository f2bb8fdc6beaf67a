#pragma once

#include <csignal>

namespace muster {

/// A descriptor from which these signals, which are blocked, are read. The caller owns it. Throws what Asio throws where the
/// system refuses a descriptor: without it no job can be run.
[[nodiscard]] int open_signal_file(const sigset_t& signals);

}  // namespace muster
