// Sums up the time of each phase over a node's events.
#include "ledger/ledger.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

namespace muster::ledger {
namespace {

/// Least seconds of a phase that is named in the closing line.
constexpr double kLeast = 1;

/// "41 s", "9 min", "3 h 20 min".
std::string duration(double seconds) {
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 3'600;
  const std::int64_t whole = std::llround(seconds);
  if (whole < 2 * kMinute) {
    return std::to_string(whole) + " s";
  }
  const std::int64_t minutes = std::llround(seconds / kMinute);
  if (whole < 2 * kHour) {
    return std::to_string(minutes) + " min";
  }
  return std::to_string(minutes / kMinute) + " h " + std::to_string(minutes % kMinute) + " min";
}

}  // namespace

const char* name_of(Phase phase) {
  static constexpr std::array<const char*, kPhases> kNames = {"waiting", "starting", "running", "ending", "restarting"};
  return kNames.at(static_cast<std::size_t>(phase));
}

std::optional<Span> Ledger::add(const Event& event) {
  now_ = event.monotonic;
  if (!began_) {
    first_ = now_;
    began_ = now_;
  }
  const std::uint64_t bytes = event.memory_peak.value_or(0);
  if (event.kind == Kind::JobEnded) {
    node_peak_ = bytes;
  } else if (bytes > worker_peak_.bytes) {
    worker_peak_ = {bytes, event.rank};
  }
  switch (event.kind) {
    case Kind::AttemptStarted:
      return start_attempt(event);
    case Kind::WorkerStarted:
      ++alive_;
      return --unstarted_ == 0 && phase_ != Phase::Ending ? std::optional(end_phase(Phase::Running)) : std::nullopt;
    case Kind::WorkerEnded:
      --alive_;
      return std::nullopt;
    case Kind::RanksMet:
      // All time since the workers were started belongs to the start, as is known now.
      if (phase_ != Phase::Running) {
        return std::nullopt;
      }
      has_met_ = has_met_ || attempts_ == 1;
      phase_ = attempts_ == 1 ? Phase::Starting : Phase::Restarting;
      return end_phase(Phase::Running);
    case Kind::Failed:
    case Kind::StopSent:
    case Kind::KillSent:
    case Kind::AttemptOver:
      return phase_ != Phase::Ending && attempts_ > 0 ? std::optional(end_phase(Phase::Ending)) : std::nullopt;
    case Kind::JobEnded:
      is_over_ = true;
      return end_phase(phase_);
    default:
      return std::nullopt;
  }
}

Span Ledger::end_phase(Phase next) {
  const Span span{phase_, *began_, now_};
  seconds_.at(static_cast<std::size_t>(phase_)) += span.end - span.begin;
  began_ = now_;
  phase_ = next;
  return span;
}

Span Ledger::start_attempt(const Event& event) {
  const Span span = end_phase(attempts_ == 0 ? Phase::Starting : Phase::Restarting);
  if (attempts_ == 0) {
    last_node_ = event.text;
  } else {
    double& ending = seconds_.at(static_cast<std::size_t>(Phase::Ending));
    seconds_.at(static_cast<std::size_t>(Phase::Restarting)) += std::exchange(ending, 0);
  }
  ++attempts_;
  alive_ = 0;
  unstarted_ = event.number.value_or(0);
  if (unstarted_ == 0) {
    phase_ = Phase::Running;
  }
  return span;
}

double Ledger::seconds(Phase phase, double now) const {
  const bool is_current = phase == phase_ && began_ && !is_over_;
  return seconds_.at(static_cast<std::size_t>(phase)) + (is_current ? std::max(now - *began_, 0.0) : 0);
}

std::string Ledger::closing_line() const {
  std::vector<std::string> parts;
  const auto add_part = [&](Phase phase, const std::string& what, const std::string& more = "") {
    if (const double time = seconds(phase, now_); time >= kLeast) {
      parts.push_back(what + " " + duration(time) + more);
    }
  };
  add_part(Phase::Waiting, last_node_.empty() ? "waited for the start" : "waited for all nodes",
           last_node_.empty() ? "" : " (" + last_node_ + " came last)");
  add_part(Phase::Starting, has_met_ ? "start until all ranks met" : "start of the workers");
  add_part(Phase::Restarting, "lost to " + count_of(static_cast<std::size_t>(restarts()), "restart"));
  parts.push_back("ran " + duration(seconds(Phase::Running, now_)));
  add_part(Phase::Ending, "end");
  return "of " + duration(total()) + ": " + join(parts, ", ") + describe_memory();
}

std::string Ledger::describe_memory() const {
  std::string text;
  if (worker_peak_.bytes > 0) {
    text = "; most memory of a worker " + format_bytes(worker_peak_.bytes) +
           (worker_peak_.rank ? " (rank " + std::to_string(*worker_peak_.rank) + ")" : "");
  }
  return text + (node_peak_ > 0 ? "; of this node's control group " + format_bytes(node_peak_) : "");
}

}  // namespace muster::ledger
