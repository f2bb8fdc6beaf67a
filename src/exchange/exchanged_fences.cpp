// The parts of a fence are put together as they are: PMIx knows where each ends.
#include "base/text.hpp"
#include "exchange/exchanged_fences.hpp"

namespace muster {
namespace {

/// A rank says some 100 to 1,000 bytes of itself.
constexpr std::size_t kMostBytes = std::size_t{16} << 20U;
constexpr int kMostRank = 10'000'000;

/// The first byte of a part, and of what comes out.
constexpr char kSaid = '+';
constexpr char kAbsent = '-';

Result<std::string> join_parts(const std::vector<gang::NodePart>& parts) {
  std::string all(1, kSaid);
  for (const gang::NodePart& part : parts) {
    const auto end = read_fence_end(part.bytes);
    if (!end) {
      return Error{ErrorKind::System, "of node " + to_string(part.node) + " are missing or torn"};
    }
    if (end->absent_rank) {
      return std::string(part.bytes);
    }
    all += end->said;
  }
  return all;
}

}  // namespace

gang::ExchangeKey pmix_fence_key() {
  return {"pmix_fence", gang::Phase::WhileRunning, kMostBytes, kMostBytes, join_parts};
}

std::string write_fence_part(std::string_view said) {
  return kSaid + std::string(said);
}

std::string write_absent_rank(int rank) {
  return kAbsent + std::to_string(rank);
}

Result<FenceEnd> read_fence_end(std::string_view merged) {
  if (merged.starts_with(kSaid)) {
    return FenceEnd{std::nullopt, merged.substr(1)};
  }
  const auto rank = merged.starts_with(kAbsent)
                        ? parse_integer(std::string(merged.substr(1)), 0, kMostRank)
                        : std::nullopt;
  if (!rank) {
    return Error{ErrorKind::BadData, "a fence of MPI's ranks came back torn"};
  }
  return FenceEnd{static_cast<int>(*rank), {}};
}

}  // namespace muster
