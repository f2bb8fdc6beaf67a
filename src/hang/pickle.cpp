// Interprets the opcodes of a pickle (Lib/pickletools.py in CPython's source) with a stack of values.
#include "hang/pickle.hpp"

#include "base/format_text.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace muster::hang {
namespace {

using Kind = PickleValue::Kind;

constexpr std::size_t kMostOpcodes = 4'000'000;
constexpr std::size_t kMostValues = 1'000'000;  ///< on the stack, with the lists and dictionaries

enum class Opcode : std::uint8_t {
  Mark = '(',
  EmptyTuple = ')',
  Stop = '.',
  BinFloat = 'G',
  BinInt = 'J',
  BinInt1 = 'K',
  BinInt2 = 'M',
  None = 'N',
  BinUnicode = 'X',
  EmptyList = ']',
  Append = 'a',
  Appends = 'e',
  BinGet = 'h',
  LongBinGet = 'j',
  BinPut = 'q',
  LongBinPut = 'r',
  SetItem = 's',
  Tuple = 't',
  SetItems = 'u',
  EmptyDict = '}',
  Proto = 0x80,
  Tuple1 = 0x85,
  Tuple2 = 0x86,
  Tuple3 = 0x87,
  NewTrue = 0x88,
  NewFalse = 0x89,
  Long1 = 0x8a
};

Error bad(const std::string& message) {
  return Error{ErrorKind::BadData, "the pickle " + message};
}

PickleValue integer(std::int64_t number) {
  return {Kind::Integer, number, {}, 0};
}

}  // namespace

/// Reads one pickle. Each step takes the bytes of an opcode, so that the time is linear.
class PickleReader {
 public:
  explicit PickleReader(std::string_view bytes) : bytes_(bytes) {}

  Result<Pickle> read() {
    for (std::size_t steps = 0; steps < kMostOpcodes; ++steps) {
      const std::string_view byte = take(1);
      const auto opcode = static_cast<Opcode>(byte.empty() ? '\0' : byte.front());
      if (!is_cut_ && opcode == Opcode::Stop && stack_.size() == 1 && marks_.empty()) {
        pickle_.root_ = stack_.front();
        return std::move(pickle_);
      }
      TRY(is_cut_ ? Result<>() : step(opcode));
      if (stack_.size() + pickle_.containers_.size() > kMostValues) {
        return bad("has more than " + std::to_string(kMostValues) + " lists, dictionaries and values outside of them");
      }
      if (is_cut_) {
        return bad("ends after " + std::to_string(bytes_.size()) + " bytes, before its STOP");
      }
    }
    return bad("has more than " + std::to_string(kMostOpcodes) + " opcodes");
  }

 private:
  Result<> step(Opcode opcode) {
    switch (opcode) {
      case Opcode::Proto: {
        constexpr std::uint64_t kProtocol = 2;
        const auto protocol = number(1);
        return protocol == kProtocol ? Result<>() : bad("has protocol " + std::to_string(protocol) + ", not 2");
      }
      case Opcode::Mark:
        marks_.push_back(stack_.size());
        return {};
      case Opcode::BinGet:
      case Opcode::LongBinGet:
        return get(number(opcode == Opcode::BinGet ? 1 : 4));
      case Opcode::BinPut:
      case Opcode::LongBinPut:
        return put(number(opcode == Opcode::BinPut ? 1 : 4));
      case Opcode::Append:
      case Opcode::Appends:
        return extend(Kind::List, opcode == Opcode::Append ? 1 : kToMark);
      case Opcode::SetItem:
      case Opcode::SetItems:
        return extend(Kind::Dictionary, opcode == Opcode::SetItem ? 2 : kToMark);
      case Opcode::Tuple1:
      case Opcode::Tuple2:
      case Opcode::Tuple3:
        return make_tuple(static_cast<std::size_t>(opcode) - static_cast<std::size_t>(Opcode::Tuple1) + 1);
      case Opcode::Tuple:
        return make_tuple(kToMark);
      case Opcode::EmptyTuple:
        return make_tuple(0);
      default:
        return push_value(opcode);
    }
  }

  /// Opcodes that push a value and take none.
  Result<> push_value(Opcode opcode) {
    switch (opcode) {
      case Opcode::None:
        stack_.emplace_back();
        return {};
      case Opcode::NewTrue:
      case Opcode::NewFalse:
        stack_.push_back({Kind::Boolean, opcode == Opcode::NewTrue ? 1 : 0, {}, 0});
        return {};
      case Opcode::BinInt:
        stack_.push_back(integer(static_cast<std::int32_t>(number(4))));
        return {};
      case Opcode::BinInt1:
      case Opcode::BinInt2:
        stack_.push_back(integer(static_cast<std::int64_t>(number(opcode == Opcode::BinInt1 ? 1 : 2))));
        return {};
      case Opcode::Long1:
        return push_long(number(1));
      case Opcode::BinFloat:
        (void)take(sizeof(double));
        stack_.emplace_back();
        return {};
      case Opcode::BinUnicode:
        stack_.push_back({Kind::Text, 0, take(number(4)), 0});
        return {};
      case Opcode::EmptyList:
        push_container(Kind::List, {});
        return {};
      case Opcode::EmptyDict:
        push_container(Kind::Dictionary, {});
        return {};
      default:
        return bad("has the opcode " + format_text("0x%02x", static_cast<unsigned>(opcode)) + " at byte " +
                   std::to_string(at_ - 1) + ", which no plain data needs");
    }
  }

  std::string_view take(std::size_t size) {
    is_cut_ = is_cut_ || size > bytes_.size() - at_;
    if (is_cut_) {
      return {};
    }
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }

  /// An unsigned number of so many bytes, the lowest first.
  std::uint64_t number(std::size_t size) {
    const std::string_view taken = take(size);
    std::uint64_t value = 0;
    for (std::size_t i = taken.size(); i > 0; --i) {
      value = value << 8U | static_cast<std::uint8_t>(taken[i - 1]);
    }
    return value;
  }

  Result<> push_long(std::size_t size) {
    if (size > sizeof(std::int64_t)) {
      return bad("has an integer of " + std::to_string(size) + " bytes, at most 8 were expected");
    }
    std::uint64_t value = number(size);
    const std::size_t bits = size * 8;
    if (bits > 0 && bits < 64 && (value >> (bits - 1) & 1U) != 0) {
      value |= ~std::uint64_t{0} << bits;
    }
    stack_.push_back(integer(static_cast<std::int64_t>(value)));
    return {};
  }

  Result<> get(std::size_t index) {
    if (index >= memo_.size()) {
      return is_cut_ ? Result<>() : bad("takes value " + std::to_string(index) + " of its memo before it is there");
    }
    stack_.push_back(memo_[index]);
    return {};
  }

  Result<> put(std::size_t index) {
    if (is_cut_) {
      return {};
    }
    if (free_values() == 0 || index > memo_.size()) {
      return bad("puts no value, or value " + std::to_string(index) + " of its memo out of turn");
    }
    if (index == memo_.size()) {
      memo_.emplace_back();
    }
    memo_[index] = stack_.back();
    return {};
  }

  /// Values above the last mark.
  std::size_t free_values() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }

  /// Takes the last values, or those behind the last mark.
  Result<std::vector<PickleValue>> pop(std::size_t count) {
    if (count == kToMark && !marks_.empty()) {
      count = free_values();
      marks_.pop_back();
    } else if (count > free_values()) {
      return bad("takes more values from its stack at byte " + std::to_string(at_ - 1) + " than are there");
    }
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<PickleValue> values(first, stack_.end());
    stack_.erase(first, stack_.end());
    return values;
  }

  Result<> make_tuple(std::size_t count) {
    push_container(Kind::List, TRY(pop(count)));
    return {};
  }

  void push_container(Kind kind, std::vector<PickleValue> items) {
    stack_.push_back({kind, 0, {}, pickle_.containers_.size()});
    pickle_.containers_.push_back(std::move(items));
  }

  /// Adds the last values to the list or dictionary below them.
  Result<> extend(Kind kind, std::size_t count) {
    const std::vector<PickleValue> values = TRY(pop(count));
    if (free_values() == 0 || stack_.back().kind != kind || (kind == Kind::Dictionary && values.size() % 2 != 0)) {
      return bad("adds at byte " + std::to_string(at_ - 1) + " to what is no list or dictionary of these");
    }
    auto& items = pickle_.containers_[stack_.back().container];
    items.insert(items.end(), values.begin(), values.end());
    return {};
  }

  static constexpr std::size_t kToMark = std::numeric_limits<std::size_t>::max();

  std::string_view bytes_;
  std::size_t at_ = 0;
  bool is_cut_ = false;
  std::vector<PickleValue> stack_;
  std::vector<std::size_t> marks_;  ///< sizes of the stack
  std::vector<PickleValue> memo_;
  Pickle pickle_;
};

Result<Pickle> Pickle::read(std::string_view bytes) {
  return PickleReader(bytes).read();
}

const std::vector<PickleValue>& Pickle::items(const PickleValue& value) const {
  return containers_[value.container];
}

PickleValue Pickle::at(const PickleValue& dictionary, std::string_view key) const {
  const auto& pairs = items(dictionary);
  for (std::size_t i = 0; dictionary.kind == Kind::Dictionary && i + 1 < pairs.size(); i += 2) {
    if (pairs[i].kind == Kind::Text && pairs[i].text == key) {
      return pairs[i + 1];
    }
  }
  return {};
}

}  // namespace muster::hang
