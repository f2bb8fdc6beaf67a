// The parts of a fence are put together as they are: PMIx knows where each ends.
#include <muster/service/exchanged_fences.hpp>

#include <string>

namespace muster {
namespace {

/// A rank says some 100 to 1,000 bytes of itself.
constexpr std::size_t kMostBytes = std::size_t{16} << 20U;

Result<std::string> join_parts(const std::vector<gang::NodePart>& parts) {
  std::string all;
  for (const gang::NodePart& part : parts) {
    all += part.bytes;
  }
  return all;
}

}  // namespace

gang::ExchangeKey pmix_fence_key() {
  return {"pmix_fence", gang::Phase::WhileRunning, kMostBytes, kMostBytes, join_parts};
}

}  // namespace muster
