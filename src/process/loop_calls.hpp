#pragma once

// Whether the system allows what an event loop is made of. Private to run/.

#include "base/result.hpp"

namespace muster {

/// Makes each of these calls once. Refused, a loop would end without a word, or turn for ever. It takes microseconds. Fails with
/// the call alone: "signalfd: Operation not permitted".
[[nodiscard]] Result<> probe_event_loop();

}  // namespace muster
