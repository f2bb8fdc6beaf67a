// Tells all agents the end of the job, and waits for them to leave.
#include "gang/protocol/goodbye.hpp"

#include <utility>

namespace muster::gang {
namespace {

/// Timeout for the agents' goodbye: they only have to leave.
constexpr std::chrono::seconds kGoodbye{5};

}  // namespace

void Goodbye::conclude(JobEnd end, Instant now) {
  if (end.first_failure && gang_.attempt.first_failure()) {
    end.first_failure = gang_.attempt.first_failure();  // the same one, with its last lines
  }
  if (end.first_failure) {
    end.left_early = gang_.attempt.left_before(*end.first_failure);
  }
  end = gang_.recorded(std::move(end));
  if (end.verdict == Verdict::Suspended) {
    end.erred_after_notice = gang_.attempt.erred_after_notice();
  } else {  // after a suspension, ranks fail only because another rank has left
    end.also_failed = gang_.attempt.other_failures();
  }
  if (!end.first_failure) {
    end.also_failed.drop_asked();
  }
  gang_.end = end;
  gang_.state = LeaderState::Finishing;
  deadline_ = now + kGoodbye;
  gang_.send(gang_.roster.links(), Finish{std::move(end)});
  dissolve_if_alone();
}

void Goodbye::drop_all_links() {
  for (const LinkId link : gang_.roster.links()) {
    gang_.drop(link);
    gang_.roster.remove(link);
  }
  dissolve_if_alone();
}

void Goodbye::dissolve_if_alone() {
  if (gang_.state == LeaderState::Finishing && !gang_.roster.has_others()) {
    gang_.state = LeaderState::Finished;
    gang_.actions.emplace_back(GangClosed{});
  }
}

}  // namespace muster::gang
