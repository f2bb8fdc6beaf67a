// Explains how a process ended by the kernel's counters, limits and signals. docs/troubleshooting.md explains each
// sentence.
#include "supervise/end_hints.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>

namespace muster {
namespace {

std::string limit_of_bytes(std::uint64_t bytes, const std::string& names) {
  return std::to_string(bytes) + " bytes (" + names + ")";
}

bool is_about_memory(const std::string& words) {
  constexpr std::array<const char*, 3> kWords{"MemoryError", "bad_alloc", "Cannot allocate memory"};
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](const char* word) { return words.find(word) != std::string::npos; });
}

/// Leaves out the limit, because the kernel raises it by a second at each SIGXCPU.
std::string used_up(double used) {
  return "it had used " + format_seconds(used) +
         " s of CPU time, which is all that its limit allows (RLIMIT_CPU, ulimit -t)";
}

/// True if the CPU time is used up, with a tolerance. The kernel checks the limit against CPU time that it samples at
/// its ticks. That differs from the time that it reports by about the root of the number of samples: at a limit of 1
/// s it reported 0.85 to 1.07 s in 50 runs on a busy machine, and once less than 0.8.
bool is_used_up(double used, std::uint64_t limit) {
  constexpr double kSlack = 0.4;
  const auto most = static_cast<double>(limit);
  return used >= most - kSlack * std::sqrt(most);
}

/// A container sees its own limit, but not that of its pod.
std::string describe_limit(const OomKills& kills) {
  if (kills.limit == 0) {
    return "no limit is visible here, so the machine or a group above this one had no memory left";
  }
  return "the limit is " + format_bytes(kills.limit) +
         (kills.peak ? ", and the most that was used " + format_bytes(*kills.peak) : "") +
         "; raise the limit, or use less memory";
}

/// Empty: the kernel has killed no process because memory ran out.
std::string hint_of_memory(const EndFacts& facts) {
  const auto& kills = facts.oom_kills;
  if (!kills || kills->after <= kills->before) {
    return {};
  }
  return std::string(facts.status.signal() == SIGKILL ? "the kernel killed it" : "the kernel killed a process here") +
         " because memory ran out: oom_kill in '" + kills->file + "' went from " + std::to_string(kills->before) +
         " to " + std::to_string(kills->after) + "; " + describe_limit(*kills);
}

/// The kernel does not report why it sent SIGKILL: its OOM counter and the CPU time are the evidence.
std::string hint_of_kill(const EndFacts& facts) {
  const auto& kills = facts.oom_kills;
  const auto& limit = facts.use.limits.hard_cpu_seconds;
  if (limit && is_used_up(facts.use.cpu_seconds, *limit)) {
    return "the kernel probably killed it: " + used_up(facts.use.cpu_seconds);
  }
  if (!kills) {
    return "muster did not send this SIGKILL; the kernel does when memory runs out (look for 'oom' "
           "in the kernel's log or the pod's events)";
  }
  return "muster did not send this SIGKILL, and the kernel's OOM killer did not either: oom_kill in '" + kills->file +
         "' is " + std::to_string(kills->after) + " as before" +
         (kills->file.ends_with("memory.oom_control") ? ", which counts no groups below it" : "");
}

std::string hint_of_signal(const EndFacts& facts) {
  const ProcessLimits& limits = facts.use.limits;
  switch (facts.status.signal().value_or(0)) {
    case SIGKILL:
      return hint_of_kill(facts);
    case SIGXCPU:
      return limits.soft_cpu_seconds ? used_up(facts.use.cpu_seconds) : std::string();
    case SIGXFSZ:
      return limits.file_size ? "a file that it wrote reached the limit of " +
                                    limit_of_bytes(*limits.file_size, "RLIMIT_FSIZE, ulimit -f")
                              : std::string();
    case SIGSYS:
      return "a filter of system calls (seccomp) refused one: the sandbox or the container's "
             "profile";
    case SIGBUS:
      return "SIGBUS often means that /dev/shm is full; data loaders use it";
    default:
      return {};
  }
}

/// The first path in the line that is in a compiler's cache; empty: it has none.
std::string cache_path_in(const std::string& line) {
  constexpr std::string_view kAround = " '\":,;=()[]";
  for (std::size_t begin = line.find('/'), end = 0; begin != std::string::npos; begin = line.find('/', end)) {
    end = std::min(line.find_first_of(kAround, begin), line.size());
    std::string path = line.substr(begin, end - begin);
    const bool is_absolute = begin == 0 || contains(kAround, line[begin - 1]);
    if (is_absolute && has_pattern(lower_case(path), "cache")) {
      return path;
    }
  }
  return {};
}

}  // namespace

bool has_pattern(std::string_view text, std::string_view kind) {
  std::string_view rest = failure_patterns();
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const bool is_of_kind = line.starts_with(kind) && line.substr(kind.size()).starts_with(' ');
    if (is_of_kind && text.find(trim(line.substr(kind.size()))) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

std::optional<std::string> find_cache_trouble(const std::string& words) {
  const bool has_code = has_pattern(lower_case(words), "code");
  for (const std::string& line : split(words, '\n')) {
    const std::string lower = lower_case(line);
    const bool is_stale = has_pattern(lower, "stale");
    std::string path = is_stale || has_pattern(lower, "busy") ? cache_path_in(line) : "";
    if (!path.empty() || (is_stale && has_code)) {
      return path;
    }
  }
  return std::nullopt;
}

std::vector<std::string> end_hints(const EndFacts& facts) {
  std::vector<std::string> hints;
  // Also for a rank that SIGKILL did not end: its data loader or its script's program may have been killed.
  std::string memory_hint = hint_of_memory(facts);
  if (std::string hint = memory_hint.empty() ? hint_of_signal(facts) : std::move(memory_hint); !hint.empty()) {
    hints.push_back(std::move(hint));
  }
  if (facts.last_output.find("No space left on device") != std::string::npos) {
    hints.push_back("its last lines mention a full disk: make room where it writes ('df -h' on " + facts.node +
                    "), or let it write elsewhere");
  }
  const auto& memory = facts.use.limits.address_space;
  if (memory && is_about_memory(facts.last_output)) {
    hints.push_back("its last lines mention memory, and its limit is " +
                    limit_of_bytes(*memory, "RLIMIT_AS, ulimit -v"));
  }
  if (facts.cache) {
    hints.push_back("its last lines mention a file in a compiler's cache, and '" + facts.cache->path +
                    "' is on a network file system (" + facts.cache->type +
                    "), where ranks race for such files: --compile-cache DIR gives each node a cache of its own");
  }
  return hints;
}

}  // namespace muster
