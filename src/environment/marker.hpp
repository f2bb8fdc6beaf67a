#pragma once

namespace muster {

/// Every process of a job carries this variable; strays are recognised by it. A muster inside a
/// worker adds its own mark behind a colon.
inline constexpr const char* kMarkerVariable = "MUSTER_JOB_MARKER";

}  // namespace muster
