// Base64 by the C library's reader: see the header.
#include "base/base64.hpp"

#include <netinet/in.h>
#include <resolv.h>

namespace muster {

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return std::nullopt;  // the reader would end there
  }
  const std::string ended(text);
  // Three bytes of four letters; the reader wants room for a whole group.
  std::string bytes(ended.size() / 4 * 3 + 3, '\0');
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
  auto* const target = reinterpret_cast<unsigned char*>(bytes.data());
  const int size = ::b64_pton(ended.c_str(), target, bytes.size());
  if (size < 0) {
    return std::nullopt;
  }
  bytes.resize(static_cast<std::size_t>(size));
  return bytes;
}

}  // namespace muster
