#pragma once

// What the kernel tells of how a process ended, in sentences. Pure.

#include "supervise/exit_status.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// What a process may use; empty: without a limit, or it is not known.
struct ProcessLimits {
  std::optional<std::uint64_t> soft_cpu_seconds;
  std::optional<std::uint64_t> hard_cpu_seconds;
  std::optional<std::uint64_t> address_space;  ///< bytes
  std::optional<std::uint64_t> file_size;      ///< bytes
};

/// What it had used and might have, read when it was dead.
struct ProcessUse {
  double cpu_seconds = 0;
  ProcessLimits limits;
};

/// The kernel's count of processes that it has killed for want of memory.
struct OomKills {
  std::string file;  ///< in which it stands
  std::uint64_t before = 0;
  std::uint64_t after = 0;
};

/// Everything that tells how a process ended.
struct EndFacts {
  ExitStatus status = ExitStatus::exited(0);
  std::string last_output;
  ProcessUse use;
  std::optional<OomKills> oom_kills;  ///< of its memory group; empty: cannot be read here
};

/// What is certain first; empty where there is nothing to add.
[[nodiscard]] std::vector<std::string> end_hints(const EndFacts& facts);

// What programs say when they fail: failure_patterns.txt, embedded at build time.

[[nodiscard]] std::string_view failure_patterns();

}  // namespace muster
