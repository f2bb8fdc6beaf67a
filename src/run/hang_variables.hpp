#pragma once

// Names the environment variables of the command of --on-hang (docs/hangs.md).

namespace muster {

inline constexpr const char* kHangRanksVariable = "MUSTER_HANG_RANKS";
inline constexpr const char* kHangPidsVariable = "MUSTER_HANG_PIDS";
inline constexpr const char* kHangNodeVariable = "MUSTER_HANG_NODE";

}  // namespace muster
