#pragma once

// Describes what the ranks of a job are doing, as nodes send it: each place once, with its ranks. Pure.

#include "base/json.hpp"
#include "hang/collectives.hpp"
#include "hang/python_stack.hpp"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::hang {

/// The place at which a rank is. Ranks that are alike have equal places.
struct Place {
  std::string end;       ///< how its process ended, such as "exit code 0"; empty: it runs
  char state = '?';      ///< state of its main thread: R, S, D, T, Z, see proc_pid_stat(5)
  std::string wait;      ///< the kernel's function in which the main thread waits; empty: none, or not readable
  Stack stack;           ///< of Python's main thread; empty: see `no_stack`
  std::string no_stack;  ///< why there is no stack
  auto operator<=>(const Place&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// Numbers that change while a rank works. "Its thread" is the thread that `RankEvidence::place` describes.
struct Counters {
  std::uint64_t switches = 0;    ///< how often its thread has given up the CPU
  std::uint64_t cpu_ms = 0;      ///< CPU time of its thread
  std::uint64_t page_reads = 0;  ///< page faults of its thread that had to read from a disk
  std::uint64_t io_bytes = 0;  ///< read and written by it and what it has started, by read(2), write(2) and their like
  std::uint64_t children_ms = 0;  ///< CPU time of processes below its main process
  std::uint64_t sending = 0;      ///< a number that changes with the bytes that wait in its sockets; 0: no bytes wait
  std::uint64_t threads_ms = 0;   ///< time for which all other threads of its process have run, or waited for a CPU
};

struct RankEvidence {
  int rank = 0;
  std::string host;
  pid_t pid = -1;  ///< process that `place` describes, in the pid namespace of its node
  Place place;
  Counters counters = {};
  std::uint64_t quiet_ms = 0;  ///< since it last wrote a line or reported a step
  bool is_active = false;      ///< while it was looked at, its calls have changed, or a child has read in pieces
  std::vector<GroupProgress> groups = {};  ///< its process groups; empty: not known
  // Set by `mark_moving`, and not sent:
  bool is_moving = false;    ///< it has worked, or its collectives have advanced
  bool is_spinning = false;  ///< it has only used its CPU, at the same calls: it may be in an endless loop
  bool is_looping = false;   ///< it has used its CPU so for so long that it counts as standing still
  double cpu_share = 0;      ///< share of one CPU that its thread has used
};

/// Facts about several ranks at one moment.
struct Evidence {
  std::vector<RankEvidence> ranks;  ///< sorted by rank
  double quiet = 0;                 ///< seconds since any rank last wrote a line or reported a step
  double others_quiet = 0;          ///< seconds since a rank other than `writer` did so; not sent
  std::optional<int> writer = {};   ///< the rank that did so last; not sent
  /// A sentence about the ranks that wait for keys in their store; empty: none are known.
  std::string store = {};
  std::string nccl = {};  ///< a sentence about how NCCL was asked; empty: nobody wanted that
  /// Progress as a node sends it: of its own ranks, from flight recorders, or of all ranks, from NCCL. `join_lines`
  /// moves it to `ranks`.
  std::vector<RankProgress> progress = {};
  int missing = 0;              ///< nodes that have not answered, or have answered nothing that can be read; not sent
  std::string missing_nodes{};  ///< their names; empty: not all of them are known
  std::optional<std::uint64_t> fabric_bytes = {};  ///< sent and received by the RDMA ports of all hosts; empty: none
  std::optional<double> fabric_rate = {};          ///< bytes a second, see `mark_moving`; not sent
  bool has_idle_recorders = false;                 ///< flight recorders listen that have not been asked
};

/// True if both stacks are in the same functions, called in the same way.
bool are_same_calls(const Stack& one, const Stack& other);

/// Writes the evidence of one node as a JSON line of at most `most_bytes`, without line end. Collectives get half of
/// these bytes. Stacks are shortened, and if that is not enough all left out; ranks are always kept.
std::string to_line(const Evidence& evidence, std::size_t most_bytes);

/// Joins the lines of the nodes. A line that cannot be read counts as a missing node: the node had no time or room,
/// or another version of muster. A line that names ranks of other nodes counts so, too: `ranks` has the ranks of the
/// node of each line, such as "0-7" or "none"; an empty or missing text: not known. A rank that several nodes name is
/// kept once.
Evidence join_lines(const std::vector<std::string>& lines, const std::vector<std::string>& ranks = {});

/// Ranks at the same place.
struct Group {
  Place place;
  std::vector<int> ranks;  ///< sorted
};

/// The groups, the largest first, then by the first rank.
std::vector<Group> group(const std::vector<RankEvidence>& evidence);

/// True for code that the user did not write: installed packages, Python's library, code without a file.
bool is_library(const Frame& frame);

/// "train.py:212 in load_shard"; installed packages by their path below site-packages.
std::string describe(const Frame& frame);

/// Names the place in one line: the innermost frame and the innermost one of the user's program, or "state D in
/// nfs_wait" without a stack, or how the process ended.
std::string describe(const Place& place);

/// The groups as JSON: objects of {ranks, end, state, wait, stack: [[file, function, line], ...], no_stack}.
json::array stacks_document(const std::vector<RankEvidence>& evidence);

/// Formats an answer {"stacks": [...], "verdict": [...]} for people. Another version of muster may have
/// written it.
std::string stacks_text(const json::object& answer);

}  // namespace muster::hang
