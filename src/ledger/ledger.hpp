#pragma once

// The time ledger of a node: its transitions, the sums over them, and the line that says where the time went. Pure.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace muster::ledger {

/// The transitions of a node.
enum class Kind {
  Joining,         ///< the agent runs, and asks to take part in the job
  AttemptStarted,  ///< all nodes are here; `number`: workers of this node; `text`: the node that came last
  WorkerStarted,   ///< `number`: its pid; `text`: "from standby", or empty
  FirstOutput,     ///< a worker has written its first bytes
  RanksMet,        ///< all ranks have called init_process_group; known to the leader that serves their store
  Failed,          ///< the first failure of this node; `text`: the service that failed, if it was one
  StopSent,        ///< the workers were asked to end; `number`: the signal
  KillSent,        ///< every process is killed
  WorkerEnded,     ///< `number`: exit code, or 128 plus the signal; `text`: the same in words
  Stalled,         ///< the job has been reported to stand still; `text`: the ranks that are named
  Notice,          ///< the job is to be suspended, or goes on; `text`: who says so
  AttemptOver,     ///< no process is left here
  CachesFilled,    ///< compilers' caches have got entries; `number`: how many
  CachesKept,      ///< new entries of compilers' caches are in a pack; `number`: how many
  FilesReadAhead,  ///< files of libraries have been read into the page cache; `number`: how many
  JobEnded         ///< `number`: exit code of the job; `text`: the reason
};

struct Event {
  Kind kind = Kind::Joining;
  std::optional<int> rank{};
  std::optional<std::int64_t> number{};
  std::string text{};
  std::optional<std::uint64_t> memory_peak{};  ///< bytes; for a worker that ended, or for the node's control group
  // Added by the one who records.
  int node = 0;
  int attempt = 0;
  double wall = 0;       ///< seconds since 1970
  double monotonic = 0;  ///< seconds of CLOCK_MONOTONIC
};

enum class Phase {
  Waiting,     ///< for the other nodes, or for files
  Starting,    ///< of the first attempt, until all ranks have met, or have been started where nobody knows more
  Running,     ///< of any attempt
  Ending,      ///< of the last attempt, from the failure or the stop signal
  Restarting,  ///< from a failure until the next attempt runs
};
inline constexpr std::size_t kPhases = 5;
const char* name_of(Phase phase);

/// A phase that is over.
struct Span {
  Phase phase = Phase::Waiting;
  double begin = 0;
  double end = 0;
};

/// The sums over a node's events.
class Ledger {
 public:
  /// Events come in the order of their times. Returns the phase that this one ends.
  std::optional<Span> add(const Event& event);

  Phase phase() const { return phase_; }
  bool is_over() const { return is_over_; }
  /// Seconds in a phase until `now`. The time of an end counts as restart if a restart follows.
  double seconds(Phase phase, double now) const;
  int restarts() const { return attempts_ > 1 ? attempts_ - 1 : 0; }
  int alive() const { return alive_; }
  /// Time from the first event to the last one.
  double total() const { return now_ - first_; }
  /// "of 1 h 2 min: waited for all nodes 41 s (node 17 came last), start until all ranks met 23 s, ...".
  std::string closing_line() const;

 private:
  Span end_phase(Phase next);
  Span start_attempt(const Event& event);
  std::string describe_memory() const;

  struct Peak {
    std::uint64_t bytes = 0;
    std::optional<int> rank;
  };

  Phase phase_ = Phase::Waiting;
  std::array<double, kPhases> seconds_{};
  std::optional<double> began_;  ///< begin of the phase; empty: no event yet
  double first_ = 0;
  double now_ = 0;  ///< time of the last event
  int attempts_ = 0;
  std::int64_t unstarted_ = 0;  ///< workers of this node that are not started yet
  int alive_ = 0;
  bool has_met_ = false;  ///< all ranks have met in the first attempt
  bool is_over_ = false;
  std::string last_node_;
  Peak worker_peak_;
  std::uint64_t node_peak_ = 0;  ///< bytes; 0: unknown
};

}  // namespace muster::ledger
