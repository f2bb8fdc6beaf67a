// Cutting and putting together: see the header.
#include "gang/protocol/pieces.hpp"

#include "base/compress.hpp"

#include <algorithm>
#include <utility>

namespace muster::gang {
namespace {

/// Below this it is not worth the leader's time.
constexpr std::size_t kLarge = std::size_t{16} << 10U;

std::string number(std::size_t value) {
  return std::to_string(value);
}

}  // namespace

std::vector<Chunk> split(Value value) {
  std::string travels;
  const std::size_t size = value.bytes.size();
  if (size >= kLarge) {
    travels = compress(value.bytes);
  }
  if (travels.empty() || travels.size() >= size) {
    travels = std::move(value.bytes);
  }
  std::vector<Chunk> chunks;
  std::size_t offset = 0;
  do {
    Chunk& chunk = chunks.emplace_back();
    chunk.id = value.id;
    chunk.size = size;
    chunk.compressed_size = travels.size();
    chunk.offset = offset;
    chunk.bytes = travels.substr(offset, kMostPieceBytes);
    offset += chunk.bytes.size();
    value.id.nodes.clear();
  } while (offset < travels.size());
  return chunks;
}

/// What is wrong with a piece; empty: nothing.
std::string Assembler::objection(const Chunk& chunk, std::size_t most) const {
  if (chunk.size > most) {
    return "sent " + number(chunk.size) + " bytes under '" + chunk.id.key + "', expected at most " +
           number(most);
  }
  if (chunk.compressed_size > chunk.size ||
      chunk.bytes.size() > chunk.compressed_size - std::min(chunk.offset, chunk.compressed_size) ||
      (chunk.bytes.empty() && chunk.compressed_size > 0)) {
    return "sent a piece under '" + chunk.id.key + "' that does not fit its value";
  }
  if (chunk.offset == 0) {
    return open_ ? "sent '" + chunk.id.key + "' before the end of '" + open_->id.key + "'" : "";
  }
  const bool follows = open_ && open_->id.key == chunk.id.key &&
                       open_->id.attempt == chunk.id.attempt && open_->id.round == chunk.id.round &&
                       open_->size == chunk.size &&
                       open_->compressed_size == chunk.compressed_size &&
                       open_->bytes.size() == chunk.offset && chunk.id.nodes.empty();
  return follows ? ""
                 : "sent a piece under '" + chunk.id.key + "' that does not follow the one before";
}

Result<std::optional<Value>> Assembler::take(Chunk chunk, std::size_t most) {
  if (std::string wrong = objection(chunk, most); !wrong.empty()) {
    return Error{ErrorKind::BadData, std::move(wrong)};
  }
  if (open_) {
    open_->bytes += chunk.bytes;
  } else {
    open_ = std::move(chunk);
  }
  if (open_->bytes.size() < open_->compressed_size) {
    return std::optional<Value>();
  }
  const Chunk whole = std::move(*std::exchange(open_, std::nullopt));
  if (whole.compressed_size == whole.size) {
    return std::optional(Value{whole.id, whole.bytes});
  }
  auto bytes = decompress(whole.bytes, whole.size);
  if (!bytes) {
    return Error{ErrorKind::BadData,
                 "sent a value under '" + whole.id.key + "' that " + bytes.error().message};
  }
  return std::optional(Value{whole.id, std::move(*bytes)});
}

}  // namespace muster::gang
