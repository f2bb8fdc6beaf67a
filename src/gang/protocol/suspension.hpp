#pragma once

// Decides what a notice means for the running attempt (docs/control.md). Part of the leader: pure.

#include "gang/protocol/admission.hpp"
#include "gang/protocol/gang_state.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace muster::gang {

/// The suspension of the running attempt. A text that a function returns is a reason to end it, for `AttemptEnd`.
class Suspension {
 public:
  /// The references outlive it.
  Suspension(GangState& gang, Admission& admission) : gang_(gang), admission_(admission) {}

  /// Tells all nodes of a notice. If there are several, the earliest deadline and the first source are used.
  void note_notice(const std::string& source, std::optional<std::chrono::milliseconds> within, Instant now);
  /// Tells all nodes that the notice is withdrawn. Returns a reason if the attempt ends all the same.
  std::string withdraw();
  /// Forgets the notice: the attempt is over, or has failed for another reason.
  void forget() {
    notice_.reset();
    has_departed_ = false;
  }

  /// A process has saved its work. Without a notice the job is suspended at the program's own wish.
  std::string note_saved(const std::string& process, Instant now);
  void note_success(const Succeeded& succeeded);
  std::string note_all_succeeded();
  /// Returns a reason at the deadline. Failures since the notice are judged when all nodes have ended.
  std::string at_deadline(Instant now) const;
  /// The kind of an end at which no process has just saved: perhaps none has saved at all.
  EndKind kind() const { return has_departed_ ? EndKind::Suspended : EndKind::Unsaved; }
  /// Returns a reason when all workers of all nodes have exited by themselves.
  std::string after_all_have_ended(Instant now) const;

  bool is_noticed() const { return notice_.has_value(); }
  std::optional<Instant> deadline() const { return notice_ ? std::optional(notice_->deadline) : std::nullopt; }
  /// The end of a job after a notice. `what` says why it ends now.
  JobEnd end(const std::string& what, EndKind kind = EndKind::Suspended) const {
    return end_by(notice_->source, what, kind);
  }
  static JobEnd end_by(const std::string& source, const std::string& what, EndKind kind = EndKind::Suspended);
  /// True if a failure counts although the job is suspended, because no process had saved or exited with 0. After
  /// such an exit, failures are taken to follow from it.
  bool has_failed_instead() const;
  /// Shortens the grace to the notice's deadline, because the platform then kills what is left; empty: no notice.
  std::optional<std::chrono::milliseconds> grace(Instant now) const;

 private:
  /// A notice that was passed on to the workers.
  struct Notice {
    std::string source;
    Instant asked;
    Instant deadline;
  };

  GangState& gang_;
  Admission& admission_;
  std::optional<Notice> notice_;
  bool has_departed_ = false;  ///< a process saved, or ended with 0, after the notice
};

}  // namespace muster::gang
