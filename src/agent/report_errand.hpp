#pragma once

// The report, by a process of its own. Private to run/.

#include "process/errand.hpp"

#include "base/result.hpp"

#include <chrono>
#include <functional>
#include <optional>

namespace muster {

/// Has `write` write the report: of our descriptors it has `stream` alone. Calls `then` once, in a later turn of the
/// loop; with an error where that took longer than `most_time`, too.
void write_report_async(HelperTask& task,
                        const std::function<Result<>()>& write,
                        std::optional<int> stream,
                        std::chrono::milliseconds most_time,
                        std::function<void(const Result<>&)> then);

}  // namespace muster
