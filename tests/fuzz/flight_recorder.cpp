// The reader of dumps of PyTorch's flight recorder, which a worker writes.
#include "hang/flight_recorder.hpp"

#include "fuzz.hpp"
#include "hang/evidence.hpp"

#include <algorithm>
#include <string>

namespace muster::fuzz {
namespace {

void check_dump(std::string_view text) {
  const auto groups = hang::read_flight_recorder(text);
  if (!groups) {
    return;
  }
  require(groups->size() <= 2'000, "groups end");
  const auto is_printable = [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != '\x7f'; };
  hang::Evidence evidence;
  for (int rank = 0; rank < 3; ++rank) {
    hang::RankEvidence one;
    one.rank = rank;
    evidence.ranks.push_back(one);
    evidence.progress.push_back({rank, *groups});
  }
  for (const hang::GroupProgress& group : *groups) {
    for (const std::string& name : {group.group, group.description, group.operation}) {
      require(std::ranges::all_of(name, is_printable), "a name may be printed");
    }
    require(group.enqueued >= 0 && group.completed >= 0, "collectives are counted from 1");
    require(group.ranks.empty() || group.ranks.front() >= 0, "so are ranks, from 0");
  }
  const auto joined = hang::join_lines({hang::to_line(evidence, 1'000'000)}).ranks;
  require(joined.size() == 3 && joined.front().groups.size() <= groups->size(), "no progress is added on the way");
  std::vector<hang::RankProgress> progress;
  for (const hang::RankEvidence& one : joined) {
    progress.push_back({one.rank, one.groups});
  }
  (void)hang::find_absent(progress);
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  muster::fuzz::check_dump(muster::fuzz::text_of(data, size));
  return 0;
}
