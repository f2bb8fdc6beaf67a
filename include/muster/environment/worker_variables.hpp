#pragma once

// What workers find of muster in their environment (docs/control.md): names that are no options.

#include <array>
#include <string_view>

namespace muster {

inline constexpr const char* kControlSocketVariable = "MUSTER_CONTROL_SOCKET";
inline constexpr const char* kSuspendFileVariable = "MUSTER_SUSPEND_FILE";
inline constexpr const char* kHeartbeatFileVariable = "MUSTER_HEARTBEAT_FILE";
inline constexpr const char* kRestartCountVariable = "MUSTER_RESTART_COUNT";
inline constexpr const char* kLastVerdictVariable = "MUSTER_LAST_VERDICT";
inline constexpr const char* kJobStateVariable = "MUSTER_JOB_STATE_DIR";

inline constexpr std::array<std::string_view, 6> kWorkerVariables = {kControlSocketVariable,
                                                                     kSuspendFileVariable,
                                                                     kHeartbeatFileVariable,
                                                                     kRestartCountVariable,
                                                                     kLastVerdictVariable,
                                                                     kJobStateVariable};

}  // namespace muster
