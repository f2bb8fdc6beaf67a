#pragma once

// Reads a pickle of plain data: texts, integers, lists and dictionaries, as PyTorch's C++ code writes them with protocol
// 2. Each opcode that could name or call something is refused, so that no input runs code. Pure.

#include "base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace muster::hang {

/// A value of a pickle. Its text is a part of the bytes that were read.
struct PickleValue {
  enum class Kind {
    None,  ///< also a float, for which nobody asks
    Boolean,
    Integer,
    Text,
    List,  ///< or a tuple
    Dictionary
  };
  Kind kind = Kind::None;
  std::int64_t number = 0;    ///< 1 for true
  std::string_view text;      ///< any bytes
  std::size_t container = 0;  ///< of a list or a dictionary, see `Pickle::items`
};

/// The values of a pickle. One that occurs several times is kept once, so that the size is bounded by that of the bytes;
/// a list may contain itself.
class Pickle {
 public:
  /// The bytes outlive the result. Fails with `BadData`: an opcode that is not allowed, bytes that are cut short, more
  /// than four million opcodes, or more than a million lists, dictionaries and values that are in none yet.
  [[nodiscard]] static Result<Pickle> read(std::string_view bytes);

  const PickleValue& root() const { return root_; }
  /// The elements of a list; of a dictionary keys and values in turn; of another value none.
  const std::vector<PickleValue>& items(const PickleValue& value) const;
  /// The value of a key, in time that grows with the dictionary; `None` where there is no such key or no dictionary.
  PickleValue at(const PickleValue& dictionary, std::string_view key) const;

 private:
  friend class PickleReader;
  PickleValue root_;
  std::vector<std::vector<PickleValue>> containers_{{}};  ///< the first is that of all other values, and empty
};

}  // namespace muster::hang
