// Decodes base64 with the C library, compresses with zlib, and computes digests.
#include "base/encoding.hpp"

#include "base/format_text.hpp"

#include <netinet/in.h>
#include <resolv.h>
#include <zlib.h>

#include <algorithm>
#include <cinttypes>
#include <limits>
#include <stdexcept>

namespace muster {

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return std::nullopt;  // b64_pton would stop at a NUL byte
  }
  const std::string ended(text);
  // Four letters give three bytes; b64_pton wants room for a whole group.
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

namespace {

/// zlib only reads from this pointer, but its type is not const.
Bytef* bytes_of(std::string_view bytes) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast,cppcoreguidelines-pro-type-reinterpret-cast)
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

/// Reads gzip's format; `decompress` reads zlib's.
class Unpacking {
 public:
  explicit Unpacking(std::string_view packed) {
    stream_.next_in = bytes_of(packed);
    stream_.avail_in = static_cast<uInt>(packed.size());
    constexpr int kGzip = 16;
    if (::inflateInit2(&stream_, MAX_WBITS + kGzip) != Z_OK) {
      throw std::runtime_error("zlib: no memory");
    }
  }
  Unpacking(const Unpacking&) = delete;
  Unpacking& operator=(const Unpacking&) = delete;
  ~Unpacking() { ::inflateEnd(&stream_); }

  /// Appends the next bytes, at most `most`; returns zlib's status.
  int take(std::string& bytes, std::size_t most) {
    const std::size_t before = bytes.size();
    bytes.resize(before + most);
    stream_.next_out = bytes_of(std::string_view(bytes).substr(before));
    stream_.avail_out = static_cast<uInt>(most);
    const int said = ::inflate(&stream_, Z_NO_FLUSH);
    bytes.resize(bytes.size() - stream_.avail_out);
    return said;
  }
  bool has_more() const { return stream_.avail_in != 0; }

 private:
  z_stream stream_{};
};

}  // namespace

std::string compress(std::string_view bytes) {
  uLongf size = ::compressBound(static_cast<uLong>(bytes.size()));
  std::string packed(size, '\0');
  const int done =
      ::compress2(bytes_of(packed), &size, bytes_of(bytes), static_cast<uLong>(bytes.size()), Z_BEST_SPEED);
  if (done != Z_OK) {
    throw std::runtime_error("zlib: no memory");
  }
  packed.resize(size);
  return packed;
}

Result<std::string> decompress(std::string_view packed, std::size_t size) {
  // One byte more than announced shows a stream that is too long.
  std::string bytes(size + 1, '\0');
  auto made = static_cast<uLongf>(bytes.size());
  auto read = static_cast<uLong>(packed.size());
  const int done = ::uncompress2(bytes_of(bytes), &made, bytes_of(packed), &read);
  if (done != Z_OK || made != size || read != packed.size()) {
    return Error{ErrorKind::BadData, "does not unpack to the " + std::to_string(size) + " bytes that were announced"};
  }
  bytes.resize(size);
  return bytes;
}

Result<std::optional<std::string>> unpack_gzip(std::string_view packed, std::size_t most) {
  constexpr std::size_t kStep = std::size_t{64} << 10U;
  const Error other{ErrorKind::BadData, "is nothing that gzip packs"};
  if (packed.size() > std::numeric_limits<uInt>::max()) {
    return other;
  }
  Unpacking unpacking(packed);
  std::string bytes;
  while (true) {
    const int said = unpacking.take(bytes, std::min(kStep, most + 1 - bytes.size()));
    if (bytes.size() > most) {
      return Error{ErrorKind::BadData, "unpacks to more than " + std::to_string(most) + " bytes"};
    }
    if (said == Z_STREAM_END && !unpacking.has_more()) {
      return std::optional(std::move(bytes));
    }
    if (said == Z_BUF_ERROR) {
      return std::optional<std::string>();
    }
    if (said != Z_OK) {
      return other;
    }
  }
}

// Source of the digest: IETF, draft-eastlake-fnv.

std::string digest_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return format_text("%016" PRIx64, hash);
}

}  // namespace muster
