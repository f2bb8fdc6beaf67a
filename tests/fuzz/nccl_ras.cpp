// Readers of what NCCL says of a job's communicators, in both forms, and of what one node passes on of it.
#include "hang/nccl_ras.hpp"

#include "fuzz.hpp"
#include "hang/progress_document.hpp"

namespace muster::fuzz {
namespace {

/// A table of the text with a number of five digits: large communicators cost time and find nothing new.
bool has_large_number(std::string_view text) {
  std::size_t digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    digits = text[i] >= '0' && text[i] <= '9' ? digits + 1 : 0;
    if (digits > 4 && i + 1 < text.size() && text[i + 1] == ' ') {
      return true;
    }
  }
  return false;
}

}  // namespace
}  // namespace muster::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  constexpr int kWorld = 8;
  constexpr std::size_t kMuch = std::size_t{1} << 16U;
  const std::string_view text = fuzz::text_of(data, size);
  if (fuzz::has_large_number(text)) {
    return 0;
  }
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
