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
    None,  ///< no value; also a float, because none is needed
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

/// The values of a pickle. A value that occurs several times is stored once, so the size is bounded by the bytes; a
/// list may contain itself.
class Pickle {
 public:
  /// The bytes outlive the result. Fails with `BadData` for an opcode that is not allowed, for bytes that end too
  /// early, and above the limits: four million opcodes, or a million lists, dictionaries and values outside of them.
  [[nodiscard]] static Result<Pickle> read(std::string_view bytes);

  const PickleValue& root() const { return root_; }
  /// The elements of a list; keys and values in turn of a dictionary; nothing for another value.
  const std::vector<PickleValue>& items(const PickleValue& value) const;
  /// The value of a key, in time that grows with the dictionary; `None` where there is no such key or no dictionary.
  PickleValue at(const PickleValue& dictionary, std::string_view key) const;

 private:
  friend class PickleReader;
  PickleValue root_;
  std::vector<std::vector<PickleValue>> containers_{{}};  ///< the first one is empty: values that are no list have it
};

}  // namespace muster::hang
