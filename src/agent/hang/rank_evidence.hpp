#pragma once

// Finds out where the workers of this node are (docs/hangs.md). Reads /proc and the memory of Python programs: for a
// helper process, because the kernel may make it wait.

#include "agent/hang/nccl_client.hpp"
#include "agent/hang/recorder_dumps.hpp"
#include "control/status.hpp"
#include "hang/evidence.hpp"
#include "hang/questions.hpp"

#include <chrono>
#include <set>
#include <string>

namespace muster {

/// The sources of evidence beside /proc. A source whose member is empty is not asked.
struct EvidenceSources {
  RecorderFolders recorder_folders = {};  ///< where PyTorch's flight recorders listen
  bool asks_recorders = false;            ///< false: muster only finds out whether a recorder listens
  NcclQuestion nccl = {};                 ///< asked on the node of rank 0, about all ranks, if a person wishes it
  std::set<hang::Question> may = hang::usual_questions();  ///< questions to ask about stacks, also of py-spy
  hang::AskedCounts* asked = nullptr;          ///< in memory that helper processes share; null: nobody counts
  std::chrono::milliseconds most_time{4'000};  ///< limit of the answer's time: nobody waits longer for it
};

/// Gathers the evidence about each worker of this node. A shell stands for the Python program below it. A rank whose
/// memory or files cannot be read in time is described only by its state. To be called in a helper process, whose end
/// also ends its readers.
hang::Evidence gather_evidence(const control::NodeStatus& status, const EvidenceSources& sources);

/// The kernel function in which the main thread waits; empty: it does not, or the kernel does not say.
std::string kernel_function_of(pid_t process);

/// Seconds since a worker last gave a sign: wrote a line, called heartbeat() or progress(), or was started.
struct QuietSeconds {
  double all = 0;     ///< since the last sign of any worker
  double others = 0;  ///< without the worker that gave that sign; if it is the only one, the same as `all`
};
QuietSeconds quiet_seconds(const control::NodeStatus& status);

}  // namespace muster
