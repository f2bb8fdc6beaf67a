// Readers of what NCCL says of a job's communicators; and of what one node passes on of it.
#include "hang/nccl_ras.hpp"

#include "fuzz.hpp"
#include "hang/progress_document.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  constexpr int kWorld = 8;
  constexpr std::size_t kMuch = std::size_t{1} << 16U;
  const std::string_view text = fuzz::text_of(data, size);
  const auto communicators = hang::parse_ras(text);
  for (const hang::RasCommunicator& communicator : communicators) {
    for (const hang::RasRank& rank : communicator.ranks) {
      fuzz::require(rank.rank >= 0 && rank.rank < communicator.size, "a rank is one of the communicator");
      fuzz::require(rank.launched >= -1, "a count is none or counted from 0");
    }
  }
  const auto progress = hang::to_progress(communicators, kWorld);
  for (const hang::RankProgress& rank : progress) {
    fuzz::require(rank.rank >= 0 && rank.rank < kWorld, "a global rank is one of the job");
  }
  const auto passed = hang::read_progress(hang::progress_document(progress, kMuch));
  fuzz::require(passed.size() <= progress.size(), "no rank is added on the way");
  boost::system::error_code error;
  const json::value document = json::parse(text, error);
  if (!error && document.is_array()) {
    (void)hang::read_progress(document.get_array());
  }
  return 0;
}
