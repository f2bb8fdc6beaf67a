#pragma once

// What a job needs of the limit of file descriptors, and what is left for strangers.

#include <muster/base/result.hpp>
#include <muster/run/run.hpp>

#include <cstddef>

namespace muster {

/// Fails when the limit cannot hold the whole job: half of one would hold devices for nothing.
[[nodiscard]] Result<> check_descriptors(const JobPlan& job, const RunOptions& options);

/// How many links a leader may keep with those who do not belong to the job: never what the job needs, now or for
/// another attempt.
[[nodiscard]] std::size_t most_strangers(const JobPlan& job, const RunOptions& options);

}  // namespace muster
