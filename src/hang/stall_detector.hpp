#pragma once

// Decides when a job hangs, and what is said of it. Pure: the caller asks the nodes and owns the timer.

#include "hang/evidence.hpp"
#include "hang/verdict.hpp"
#include "hang/writer_watch.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace muster::hang {

/// Watches one attempt. A job is quiet while none of its ranks writes a line or reports a step. Evidence is gathered
/// at half of the limit, and again at the limit; the verdict follows from what has not changed between the two.
///
///   Watching ── quiet for half of the limit: gather ──▶ Suspicious ── quiet for the limit: gather, judge ──▶ Reported
///      ▲                                                   │                                                    │
///      └──────────────────── a line, a step ───────────────┴────────────────────────────────────────────────────┘
///
/// While one rank writes and all others are quiet, the job is looked at once in each limit, without the recorders.
///
/// A flight recorder makes its rank write a line when it is asked. So recorders are asked only if the job may hang,
/// until a rank is named; if they show that the job moves, they are asked again only after twice the time.
class StallDetector {
 public:
  /// Limits in seconds of quiet. 0: never; at least one is set.
  struct Limits {
    double report = 0;         ///< after which a hang is reported
    double end = 0;            ///< after which it ends the attempt, once its ranks have met
    double first_meeting = 0;  ///< after which it ends an attempt whose ranks have not met
    bool are_any() const { return report + end + first_meeting > 0; }
  };

  /// `world_size`: ranks of the job.
  StallDetector(Limits limits, int world_size);

  /// A hang because of which the attempt has to end.
  struct Hang {
    std::string why;
    std::vector<int> ranks;  ///< ranks that run, and for which the others wait; empty: none could be named
  };

  /// The state of a job that stands still or has to end, for the report.
  struct Look {
    std::string why;                        ///< "the job has not moved for 60 s"
    double quiet = 0;                       ///< seconds
    std::vector<std::string> verdict = {};  ///< sentences
    std::vector<int> ranks = {};            ///< ranks that the verdict names
    bool begins_stall = false;              ///< the first report of this stall
  };

  /// The next step of the caller.
  struct Step {
    bool gathers = false;                 ///< ask all nodes, then call `on_evidence`
    bool asks_recorders = false;          ///< ask the flight recorders, too
    double delay = 0;                     ///< seconds until `on_time`, if `gathers` is false
    std::vector<std::string> lines = {};  ///< for the consoles of all nodes
    std::optional<Hang> hang = {};
    std::optional<Look> look = {};
    bool is_moving = false;  ///< the job is not quiet, or not any more
  };

  /// Seconds until the first `on_time`.
  double first_delay() const { return limit_ / 2; }
  /// `quiet`: seconds since a rank of this node last gave a sign; `others_quiet`: the same without the last writer.
  Step on_time(double quiet, double others_quiet = 0);
  /// Takes the `evidence` of all ranks that could be asked.
  Step on_evidence(Evidence evidence);

 private:
  Step check_beside_writer(const Evidence& evidence);
  Step ask_or_compare(Evidence evidence);
  Step compare(Evidence evidence);
  double next_delay(double quiet) const;
  double end() const { return has_met_ ? limits_.end : limits_.first_meeting; }
  void note_loops(Evidence& evidence);
  void note_meeting(const Evidence& evidence);
  void note_verdict(const Verdict& verdict, double quiet);
  bool is_long_enough(double quiet) const;
  Step report(const Evidence& evidence, const Verdict& verdict);
  Look describe_stall(const Verdict& verdict, const Evidence& evidence, double seconds, bool begins) const;
  std::vector<std::string> lines_without_stall(const Evidence& evidence, const Verdict& verdict);
  std::optional<Hang> find_hang(const Evidence& evidence, const Verdict& verdict, std::string why) const;
  Step begin_again(double quiet);

  Limits limits_;
  double limit_;  ///< the shortest limit, at which evidence is reported first
  int world_size_;
  bool has_met_;  ///< the ranks have communicated once in this attempt
  bool has_said_what_is_missing_ = false;
  bool has_said_who_works_ = false;  ///< in this stall
  WriterWatch writer_watch_;
  bool has_named_beside_writer_ = false;
  std::optional<Evidence> before_;
  /// The time since when a rank has only used its CPU, and the CPU seconds that it has used since.
  struct Spin {
    double since;  ///< in seconds of quiet
    double cpu = 0;
  };
  std::map<int, Spin> spins_;    ///< by rank
  std::vector<int> seen_ranks_;  ///< ranks of the last verdicts, which agreed
  std::optional<Finding> seen_;  ///< finding of the last verdicts; empty: none for which a job ends
  double seen_since_ = 0;        ///< seconds of quiet at the look before the first of these verdicts
  double seen_at_ = 0;           ///< seconds of quiet at the last of these looks
  int times_seen_ = 0;
  double longest_quiet_ = 0;         ///< longest quiet of the stall that was reported
  std::optional<Finding> reported_;  ///< finding that was reported in this stall
  double asks_after_ = 0;            ///< seconds of quiet before which recorders are not asked, as the job has moved
};

}  // namespace muster::hang
