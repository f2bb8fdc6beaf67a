#pragma once

// Input of the parts of an attempt.

#include "agent/hang/hang_record.hpp"
#include "agent/read_ahead.hpp"
#include "agent/standbys.hpp"
#include "process/helper_process.hpp"
#include "process/sidecars.hpp"
#include "run/run_context.hpp"

#include <boost/asio/io_context.hpp>

#include <sys/types.h>

namespace muster {

/// The parts of the agent that an attempt uses; all of them outlive the attempt.
struct AttemptInput {
  boost::asio::io_context& io;
  const RunContext& run;
  pid_t guard = -1;
  Sidecars& sidecars;
  HelperProcesses& helpers;
  const GuardSharedMemory& page;
  HangRecord& hang_record;
  Standbys& standbys;
  ReadAhead& read_ahead;
};

}  // namespace muster
