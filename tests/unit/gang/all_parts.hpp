#pragma once

// A merge rule that gives every node the parts of all nodes. Each part follows its length in four big-endian bytes.

#include "gang/exchange_values.hpp"

#include <cstdint>

namespace muster::gang {

inline constexpr std::size_t kLengthBytes = 4;
inline constexpr unsigned kByteBits = 8;

[[nodiscard]] inline Result<std::string> all_parts(const std::vector<NodePart>& parts) {
  std::string merged;
  for (const NodePart& part : parts) {
    for (std::size_t i = kLengthBytes; i-- > 0;) {
      merged += static_cast<char>((part.bytes.size() >> (i * kByteBits)) & 0xFFU);
    }
    merged += part.bytes;
  }
  return merged;
}

/// Reads the result of `all_parts`, in the order of node ranks. Fails with `BadData`.
[[nodiscard]] inline Result<std::vector<std::string>> read_parts(std::string_view merged) {
  std::vector<std::string> parts;
  while (!merged.empty()) {
    std::uint32_t size = 0;
    const std::string_view length = merged.substr(0, kLengthBytes);
    for (const char byte : length) {
      size = (size << kByteBits) | static_cast<std::uint8_t>(byte);
    }
    merged.remove_prefix(length.size());
    if (length.size() < kLengthBytes || size > merged.size()) {
      return Error{ErrorKind::BadData, "the parts of all nodes end in the middle of one"};
    }
    parts.emplace_back(merged.substr(0, size));
    merged.remove_prefix(size);
  }
  return parts;
}

}  // namespace muster::gang
