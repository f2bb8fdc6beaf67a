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

/// Watches one attempt. A job is quiet while none of its ranks writes a line or reports a step. At half of the limit
/// the first evidence is gathered, at the limit the second; what has not changed between them is compared.
///
///   Watching ── quiet for half of the limit: gather ──▶ Suspicious ── quiet for the limit: gather, judge ──▶ Reported
///      ▲                                                   │                                                    │
///      └──────────────────── a line, a step ───────────────┴────────────────────────────────────────────────────┘
///
/// While one rank writes and all others are quiet, the job is looked at once in each limit, without the recorders.
///
/// Flight recorders make each rank write a line when they are asked. So they are asked only of a job that may hang, until a
/// rank is named; and if they show that the job moves, only after twice the time.
class StallDetector {
 public:
  /// Seconds of quiet. 0: never; one is more.
  struct Limits {
    double report = 0;         ///< after which a hang is reported
    double end = 0;            ///< after which it ends the attempt, once its ranks have met
    double first_meeting = 0;  ///< after which it ends an attempt whose ranks have not met
    bool are_any() const { return report + end + first_meeting > 0; }
  };

  /// `world_size`: ranks of the job.
  StallDetector(Limits limits, int world_size);

  /// A hang that is to end the attempt.
  struct Hang {
    std::string why;
    std::vector<int> ranks;  ///< ranks that run, and for which the others wait; empty: nobody is named
  };

  /// The state of a job whose stall has been reported, or that is to end.
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
  /// `quiet`: seconds for which all ranks of this node have been quiet; `others_quiet`: for which all but the last writer have.
  Step on_time(double quiet, double others_quiet = 0);
  /// `evidence` of all ranks that could be asked.
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
  double limit_;  ///< the shortest limit: the first evidence that may be reported comes then
  int world_size_;
  bool has_met_;  ///< the ranks have communicated once in this attempt
  bool has_said_what_is_missing_ = false;
  bool has_said_who_works_ = false;  ///< in this stall
  WriterWatch writer_watch_;
  bool has_named_beside_writer_ = false;
  std::optional<Evidence> before_;
  /// Since when a rank has only used its CPU, and the seconds of CPU time from then on.
  struct Spin {
    double since;  ///< in seconds of quiet
    double cpu = 0;
  };
  std::map<int, Spin> spins_;    ///< by rank
  std::vector<int> seen_ranks_;  ///< the ranks of the last verdicts, which were alike
  std::optional<Finding> seen_;  ///< finding of the last verdicts; empty: none that ends a job
  double seen_since_ = 0;        ///< the look before the first of these, in seconds of quiet
  double seen_at_ = 0;           ///< the last of these looks, likewise
  int times_seen_ = 0;
  double longest_quiet_ = 0;         ///< of the stall that was reported
  std::optional<Finding> reported_;  ///< in this stall
  double asks_after_ = 0;            ///< seconds of quiet; before, the recorders are not asked: the job has moved
};

}  // namespace muster::hang
