#pragma once

// From settings, which are text, to the typed requests of the stages.

#include "options.hpp"

#include <muster/gang/options.hpp>
#include <muster/plan/binding.hpp>
#include <muster/plan/launch_plan.hpp>
#include <muster/run/run.hpp>

namespace muster {

/// What to run: adds the Python interpreter where one is needed. Fails with `BadUsage` when no
/// program is given.
[[nodiscard]] Result<JobRequest> read_job(const CommandLine& line, const Snapshot& snapshot);

/// How to run it. Fails when an option is wrong.
[[nodiscard]] Result<RunOptions> read_run_options(const Settings& settings,
                                                  const Snapshot& snapshot);

/// The part of it that says which lines go where, and what they begin with.
[[nodiscard]] Result<> read_log_options(RunOptions& options,
                                        const Settings& settings,
                                        const Snapshot& snapshot);

/// How the nodes of a job meet, restart and end together. Fails when an option is wrong, or when both
/// MUSTER_TOKEN, which is the token itself, and --token-file are given.
[[nodiscard]] Result<gang::GangOptions> read_gang_options(const Settings& settings,
                                                          const Snapshot& snapshot);

/// How the processes are to be bound to CPUs and memory; empty: nobody asked for it. Reads the file
/// that an option names. Fails when an option is wrong, or when two contradict each other. `mode` is
/// the name of the chosen mode: msrun's workers are told what they are bound to.
[[nodiscard]] Result<std::optional<BindingRequest>> read_binding_request(const Settings& settings,
                                                                         const std::string& mode);

/// Fails when --stdin names a worker that this node does not have.
[[nodiscard]] Result<> check_stdin_rank(const Settings& settings,
                                        const RunOptions& options,
                                        const LaunchPlan& plan);

}  // namespace muster
