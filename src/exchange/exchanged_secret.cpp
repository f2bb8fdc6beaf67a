// Everybody takes the first node's.
#include "exchange/exchanged_secret.hpp"

namespace muster {
namespace {

constexpr std::size_t kDigits = 32;

Result<std::string> merge(const std::vector<gang::NodePart>& parts) {
  if (parts.empty() || parts.front().bytes.size() != kDigits) {
    return Error{ErrorKind::System, "of node 0 is missing or torn"};
  }
  return std::string(parts.front().bytes);
}

}  // namespace

gang::ExchangeKey job_secret_key() {
  return {"job_secret", gang::Phase::BeforeStart, kDigits, kDigits, merge};
}

std::string read_job_secret(const gang::Exchanged& merged) {
  const auto secret = merged.find(job_secret_key().name);
  return secret == merged.end() ? std::string() : secret->second;
}

}  // namespace muster
