#pragma once

// Compares two looks at a quiet job: finds what has worked between them, and what stood still. Pure.

#include "hang/evidence.hpp"

namespace muster::hang {

/// A rank that waits for nobody has worked if one of these numbers is above its limit. docs/hangs.md has the table.
struct Thresholds {
  double cpu_share = 0.02;       ///< its thread: share of one CPU
  double switches = 0.5;         ///< its thread, in a wait that a library repeats by itself: times a second
  double threads_share = 0.05;   ///< all other threads of its process: share of one CPU
  double page_reads = 1;         ///< its thread: reads from a disk a second
  double io = 1'000'000;         ///< bytes a second; a thread that only reports the machine's load reads less
  double children_share = 0.05;  ///< the processes below it: share of one CPU
  double fabric = 1'000'000;     ///< bytes a second; the management of the network sends less
};

/// Sets what each rank has done since `before`, `seconds` ago, and the rate of the fabric. For a rank that waits for
/// others only an operation that went through counts, because a wait may poll, and libraries' threads always do
/// something. While much data goes over the fabric, ranks whose collectives are not known count as moving.
void mark_moving(Evidence& now, const Evidence& before, double seconds);

}  // namespace muster::hang
