#pragma once

// Values that travel in pieces, so that a large one holds nothing up and fits the frames. Pure.

#include "base/result.hpp"
#include "gang/exchange_values.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::gang {

/// A part of a value. The pieces of a value follow each other: a link carries one value at a time.
struct Chunk {
  ValueId id;            ///< without `nodes` in all but the first piece
  std::size_t size = 0;  ///< of the whole value
  std::size_t compressed_size =
      0;  ///< of the whole value as it travels: less than `size` where it is compressed
  std::size_t offset = 0;  ///< of this piece in what travels
  std::string bytes;
};

/// The most bytes of a piece, of a key's name, and of nodes that are listed.
inline constexpr std::size_t kMostPieceBytes = std::size_t{32} << 10U;
inline constexpr std::size_t kMostKeyBytes = 64;
inline constexpr std::size_t kMostListedNodes = 16'384;
/// No value is larger, whatever its key allows.
inline constexpr std::size_t kMostValueBytes = std::size_t{16} << 20U;

/// Large values are compressed where that makes them smaller.
[[nodiscard]] std::vector<Chunk> split(Value value);

/// Puts values together again.
class Assembler {
 public:
  /// Returns the value with its last piece. `most` is the limit of its key. Errors are of kind
  /// `BadData`, read behind the sender's name ("sent ...") and are final.
  [[nodiscard]] Result<std::optional<Value>> take(Chunk chunk, std::size_t most);

  /// The value of which some pieces are here and some are not.
  [[nodiscard]] const std::optional<Chunk>& open() const { return open_; }
  void drop() { open_.reset(); }

 private:
  [[nodiscard]] std::string objection(const Chunk& chunk, std::size_t most) const;

  std::optional<Chunk> open_;  ///< with the bytes so far; no more than have come
};

}  // namespace muster::gang
