// Keeps the first of the looks that agree.
#include "hang/writer_watch.hpp"

#include "hang/movement.hpp"

#include <algorithm>
#include <utility>

namespace muster::hang {
namespace {

bool has_worked(const RankEvidence& now, const Evidence& before) {
  const auto was = std::ranges::find(before.ranks, now.rank, &RankEvidence::rank);
  return was == before.ranks.end() || was->counters.switches != now.counters.switches ||
         was->counters.cpu_ms != now.counters.cpu_ms;
}

/// True if all ranks wait for the named ones.
bool do_all_wait(const Verdict& verdict, const Evidence& evidence) {
  return verdict.finding == Finding::Named && evidence.missing == 0 &&
         std::ranges::all_of(evidence.ranks, [&](const RankEvidence& one) {
           return one.place.end.empty() && (std::ranges::binary_search(verdict.ranks, one.rank) || waits(one));
         });
}

}  // namespace

std::optional<WriterWatch::Stand> WriterWatch::look(Evidence evidence) {
  const std::optional<Evidence> before = std::exchange(before_, evidence);
  if (!before || evidence.others_quiet <= before->others_quiet || evidence.writer != before->writer) {
    verdict_.reset();
    return {};
  }
  mark_moving(evidence, *before, evidence.others_quiet - before->others_quiet);
  for (RankEvidence& one : evidence.ranks) {
    one.is_moving = one.is_moving || (one.rank == evidence.writer && !waits(one) && has_worked(one, *before));
  }
  Verdict verdict = judge(evidence.ranks);
  if (!do_all_wait(verdict, evidence)) {
    verdict_.reset();
    return {};
  }
  if (!verdict_ || verdict_->ranks != verdict.ranks) {
    since_ = before->others_quiet;
    looks_ = 1;
  }
  verdict_ = std::move(verdict);
  return Stand{*verdict_, evidence.others_quiet - since_, ++looks_};
}

}  // namespace muster::hang
