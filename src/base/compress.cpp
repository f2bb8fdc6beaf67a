// zlib's streams: see the header.
#include <muster/base/compress.hpp>

#include <zlib.h>

#include <stdexcept>

namespace muster {
namespace {

/// zlib only reads from there, but has no word for it.
Bytef* bytes_of(std::string_view bytes) {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast,cppcoreguidelines-pro-type-reinterpret-cast)
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

}  // namespace

std::string compress(std::string_view bytes) {
  uLongf size = ::compressBound(static_cast<uLong>(bytes.size()));
  std::string packed(size, '\0');
  const int done = ::compress2(
      bytes_of(packed), &size, bytes_of(bytes), static_cast<uLong>(bytes.size()), Z_BEST_SPEED);
  if (done != Z_OK) {
    throw std::runtime_error("zlib: no memory");
  }
  packed.resize(size);
  return packed;
}

Result<std::string> decompress(std::string_view packed, std::size_t size) {
  // One byte more than there should be: what is longer shows.
  std::string bytes(size + 1, '\0');
  auto made = static_cast<uLongf>(bytes.size());
  auto read = static_cast<uLong>(packed.size());
  const int done = ::uncompress2(bytes_of(bytes), &made, bytes_of(packed), &read);
  if (done != Z_OK || made != size || read != packed.size()) {
    return Error{ErrorKind::BadData,
                 "does not unpack to the " + std::to_string(size) + " bytes that were announced"};
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace muster
