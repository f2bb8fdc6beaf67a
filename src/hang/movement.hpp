#pragma once

// Compares two looks at a quiet job: what has worked between them, and what stood still. Pure.

#include "hang/evidence.hpp"

namespace muster::hang {

/// Above which a rank works that waits for nobody. docs/hangs.md has the table.
struct Thresholds {
  double cpu_share = 0.02;       ///< of one CPU, of its thread
  double switches = 0.5;         ///< a second, of its thread, in a wait that a library begins again by itself
  double threads_share = 0.05;   ///< of one CPU, of all other threads of its process
  double page_reads = 1;         ///< a second, of its thread
  double io = 1'000'000;         ///< bytes a second; a thread that only reports the use of the machine reads less
  double children_share = 0.05;  ///< of one CPU, of the processes below it
  double fabric = 1'000'000;     ///< bytes a second; the subnet's management makes less
};

/// Sets what each rank has done since `before`, which was so many seconds ago, and the rate of the fabric. Of a rank that waits for others only what shows
/// that an operation went through counts: waits may poll, and threads of libraries always do something. While much
/// goes over the fabric, ranks move whose collectives are not known.
void mark_moving(Evidence& now, const Evidence& before, double seconds);

}  // namespace muster::hang
