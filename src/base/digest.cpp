// Digests of texts: see the header. Source: IETF, draft-eastlake-fnv.
#include "base/digest.hpp"

#include <cstdint>

namespace muster {

std::string digest_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  constexpr int kDigits = 16;
  constexpr unsigned kDigitBits = 4;
  std::string digits(kDigits, '0');
  for (std::size_t i = kDigits; i-- > 0; hash >>= kDigitBits) {
    digits[i] = "0123456789abcdef"[hash % kDigits];
  }
  return digits;
}

}  // namespace muster
