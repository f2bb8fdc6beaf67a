#pragma once

// Explains how a process ended, in sentences, from facts that the kernel reports. Pure.

#include "supervise/exit_status.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Resource limits of a process; empty: unlimited or unknown.
struct ProcessLimits {
  std::optional<std::uint64_t> soft_cpu_seconds;
  std::optional<std::uint64_t> hard_cpu_seconds;
  std::optional<std::uint64_t> address_space;  ///< bytes
  std::optional<std::uint64_t> file_size;      ///< bytes
};

/// Resource use and limits of a process, read when it was a zombie.
struct ProcessUse {
  double cpu_seconds = 0;
  ProcessLimits limits;
};

/// The kernel's count of processes that the OOM killer has killed.
struct OomKills {
  std::string file;  ///< the file that has the count
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  std::uint64_t limit = 0;              ///< bytes that the group may use; 0: no limit is visible
  std::optional<std::uint64_t> peak{};  ///< most bytes that it has used; empty: the kernel does not tell
};

/// A compiler's cache on a network file system.
struct NetworkCache {
  std::string path;
  std::string type;  ///< of the file system: "nfs4"
};

/// The facts about the end of a process.
struct EndFacts {
  ExitStatus status = ExitStatus::exited(0);
  std::string node;  ///< on which it ran: "node 0 (node-a)"
  std::string last_output;
  ProcessUse use;
  std::optional<OomKills> oom_kills;  ///< of its memory cgroup; empty: not readable
  std::optional<NetworkCache> cache;  ///< cache in which its last words miss a file; empty: none
};

/// Sentences, the most certain first; empty when there is nothing to add.
std::vector<std::string> end_hints(const EndFacts& facts);

/// Finds a complaint that a file of a compiler's cache is gone or busy. Returns the file's path; "": the words have
/// none. No value: no such complaint.
std::optional<std::string> find_cache_trouble(const std::string& words);

// Messages of programs that fail: failure_patterns.txt, embedded at build time.

/// True if the lower-case text has a pattern of this kind.
bool has_pattern(std::string_view text, std::string_view kind);

std::string_view failure_patterns();

}  // namespace muster
