// Cutting and putting together: see the header.
#include "pieces.hpp"

#include <muster/base/compress.hpp>

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

std::vector<Piece> cut(Value value) {
  std::string travels;
  const std::size_t size = value.bytes.size();
  if (size >= kLarge) {
    travels = compress(value.bytes);
  }
  if (travels.empty() || travels.size() >= size) {
    travels = std::move(value.bytes);
  }
  std::vector<Piece> pieces;
  std::size_t offset = 0;
  do {
    Piece& piece = pieces.emplace_back();
    piece.id = value.id;
    piece.size = size;
    piece.packed = travels.size();
    piece.offset = offset;
    piece.bytes = travels.substr(offset, kMostPieceBytes);
    offset += piece.bytes.size();
    value.id.nodes.clear();
  } while (offset < travels.size());
  return pieces;
}

/// What is wrong with a piece; empty: nothing.
std::string Assembler::objection(const Piece& piece, std::size_t most) const {
  if (piece.size > most) {
    return "sent " + number(piece.size) + " bytes under '" + piece.id.key + "', expected at most " +
           number(most);
  }
  if (piece.packed > piece.size ||
      piece.bytes.size() > piece.packed - std::min(piece.offset, piece.packed) ||
      (piece.bytes.empty() && piece.packed > 0)) {
    return "sent a piece under '" + piece.id.key + "' that does not fit its value";
  }
  if (piece.offset == 0) {
    return open_ ? "sent '" + piece.id.key + "' before the end of '" + open_->id.key + "'" : "";
  }
  const bool follows = open_ && open_->id.key == piece.id.key &&
                       open_->id.attempt == piece.id.attempt && open_->id.round == piece.id.round &&
                       open_->size == piece.size && open_->packed == piece.packed &&
                       open_->bytes.size() == piece.offset && piece.id.nodes.empty();
  return follows ? ""
                 : "sent a piece under '" + piece.id.key + "' that does not follow the one before";
}

Result<std::optional<Value>> Assembler::take(Piece piece, std::size_t most) {
  if (std::string wrong = objection(piece, most); !wrong.empty()) {
    return Error{ErrorKind::BadData, std::move(wrong)};
  }
  if (open_) {
    open_->bytes += piece.bytes;
  } else {
    open_ = std::move(piece);
  }
  if (open_->bytes.size() < open_->packed) {
    return std::optional<Value>();
  }
  const Piece whole = std::move(*std::exchange(open_, std::nullopt));
  if (whole.packed == whole.size) {
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
