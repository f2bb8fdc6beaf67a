// Reads CPython's frames by the offsets that it states itself.
#include "hang/python_stack.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace muster::hang {
namespace {

constexpr std::string_view kCookie = "xdebugpy";
constexpr std::size_t kMostStates = 10'000;
constexpr std::size_t kMostNameBytes = 1'000;
constexpr std::size_t kMostTableBytes = std::size_t{64} << 10U;
/// Limit of offsets: no structure of CPython that we read is larger.
constexpr std::uint64_t kMostOffset = std::uint64_t{1} << 20U;
/// Frames of this owner or a later one belong to the interpreter itself, and have no code.
constexpr std::uint8_t kFirstInternalOwner = 3;

/// Positions in the table, in 8-byte words behind the cookie.
struct TableOrder {
  std::uint64_t version;  ///< 0x030D for 3.13
  std::size_t interpreters, threads, thread_next, current_frame, native_id;
  std::size_t previous, executable, instruction, owner;
  std::size_t file, function, locations, first_line, instructions;
  std::size_t bytes_size, bytes_data, text_state, text_length, text_data;
};

constexpr std::array kOrders{
    TableOrder{.version = 0x030D,
               .interpreters = 4,
               .threads = 8,
               .thread_next = 20,
               .current_frame = 22,
               .native_id = 24,
               .previous = 28,
               .executable = 29,
               .instruction = 30,
               .owner = 32,
               .file = 34,
               .function = 36,
               .locations = 37,
               .first_line = 38,
               .instructions = 42,
               .bytes_size = 64,
               .bytes_data = 65,
               .text_state = 67,
               .text_length = 68,
               .text_data = 69},
    TableOrder{.version = 0x030E,
               .interpreters = 4,
               .threads = 8,
               .thread_next = 23,
               .current_frame = 25,
               .native_id = 27,
               .previous = 31,
               .executable = 32,
               .instruction = 33,
               .owner = 35,
               .file = 39,
               .function = 41,
               .locations = 42,
               .first_line = 43,
               .instructions = 47,
               .bytes_size = 74,
               .bytes_data = 75,
               .text_state = 77,
               .text_length = 78,
               .text_data = 79},
};
constexpr std::size_t kTableWords = 80;

class Reader {
 public:
  Reader(const Memory& memory, const TableOrder& order, const std::array<std::uint64_t, kTableWords>& table)
      : memory_(memory), order_(order), table_(table) {}

  [[nodiscard]] Result<Stack> stack_of(std::uint64_t runtime, std::uint64_t thread) const {
    const std::uint64_t state = find_thread(pointer(runtime, order_.interpreters), thread);
    if (state == 0) {
      return Error{ErrorKind::BadData, "the interpreter has no thread"};
    }
    Stack stack;
    std::uint64_t frame = pointer(state, order_.current_frame);
    for (std::size_t i = 0; i < kMostFrames && frame != 0; ++i) {
      if (auto described = describe(frame)) {
        stack.push_back(std::move(*described));
      }
      frame = pointer(frame, order_.previous);
    }
    return stack;
  }

  std::vector<std::uint64_t> threads(std::uint64_t runtime) const {
    std::vector<std::uint64_t> ids;
    const std::uint64_t interpreter = pointer(runtime, order_.interpreters);
    std::uint64_t state = interpreter == 0 ? 0 : pointer(interpreter, order_.threads);
    for (std::size_t i = 0; i < kMostStates && state != 0; ++i) {
      ids.push_back(pointer(state, order_.native_id));
      state = pointer(state, order_.thread_next);
    }
    return ids;
  }

 private:
  std::uint64_t offset(std::size_t word) const { return table_.at(word); }

  template <typename T>
  T value(std::uint64_t address) const {
    T read{};
    return memory_.read(address, &read, sizeof read) ? read : T{};
  }
  /// The 8 bytes at the member of an object; 0: not readable.
  std::uint64_t pointer(std::uint64_t object, std::size_t member) const {
    return value<std::uint64_t>(object + offset(member));
  }

  /// The state of the wanted thread, or of the oldest one: new threads come before old ones.
  std::uint64_t find_thread(std::uint64_t interpreter, std::uint64_t wanted) const {
    std::uint64_t state = interpreter == 0 ? 0 : pointer(interpreter, order_.threads);
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < kMostStates && state != 0; ++i) {
      if (pointer(state, order_.native_id) == wanted) {
        return state;
      }
      last = state;
      state = pointer(state, order_.thread_next);
    }
    return last;
  }

  std::optional<Frame> describe(std::uint64_t frame) const {
    if (value<std::uint8_t>(frame + offset(order_.owner)) >= kFirstInternalOwner) {
      return {};
    }
    constexpr std::uint64_t kTagBits = 7;  // since 3.14 references on the stack are tagged
    const std::uint64_t code = pointer(frame, order_.executable) & ~kTagBits;
    Frame described{text(pointer(code, order_.file)), text(pointer(code, order_.function)), 0};
    if (code == 0 || described.file.empty() || described.function.empty()) {
      return {};
    }
    const std::uint64_t instruction = pointer(frame, order_.instruction);
    const std::uint64_t first = code + offset(order_.instructions);
    const int first_line = value<std::int32_t>(code + offset(order_.first_line));
    described.line =
        line_at(bytes(pointer(code, order_.locations)), first_line, instruction < first ? 0 : instruction - first);
    return described;
  }

  std::string block(std::uint64_t address, std::uint64_t size, std::size_t most) const {
    std::string read(static_cast<std::size_t>(std::min<std::uint64_t>(size, most)), '\0');
    return size <= most && memory_.read(address, read.data(), read.size()) ? read : "";
  }
  std::string bytes(std::uint64_t object) const {
    return object == 0 ? ""
                       : block(object + offset(order_.bytes_data), pointer(object, order_.bytes_size), kMostTableBytes);
  }

  /// The text of a string object; empty: it has none that we can read. A text that is not all ASCII is stored behind
  /// a longer head, in 1, 2 or 4 bytes a character.
  std::string text(std::uint64_t object) const {
    const std::uint64_t length = object == 0 ? 0 : pointer(object, order_.text_length);
    const std::uint64_t data = object + offset(order_.text_data);
    if (std::string ascii = block(data, length, kMostNameBytes); is_printable(ascii)) {
      return ascii;
    }
    constexpr std::uint64_t kLongerHead = 16;
    const std::uint32_t width = (value<std::uint32_t>(object + offset(order_.text_state)) >> 2U) & 7U;
    if (width != 1 && width != 2 && width != 4) {
      return "";
    }
    const std::string wide = block(data + kLongerHead, length * width, kMostNameBytes);
    std::string shown;
    for (std::size_t i = 0; i + width <= wide.size(); i += width) {
      std::uint32_t character = 0;
      std::memcpy(&character, wide.data() + i, width);
      append_utf8(shown, is_printable(character) || is_letter(character) ? character : '?');
    }
    return shown;
  }

  static bool is_printable(std::uint32_t character) { return character >= 0x20 && character < 0x7F; }
  /// True for a character beyond ASCII: no control, no change of the text's direction, and no invalid character.
  static bool is_letter(std::uint32_t character) {
    const bool is_general = character >= 0x2000 && character < 0x2070;  // spaces, marks of direction
    const bool is_surrogate = character >= 0xD800 && character < 0xE000;
    return character >= 0xA0 && character < 0x110000 && character != 0xFEFF && !is_general && !is_surrogate;
  }
  static void append_utf8(std::string& text, std::uint32_t character) {
    constexpr std::uint32_t kBits = 6;
    if (character < 0x80) {
      text += static_cast<char>(character);
      return;
    }
    const std::uint32_t more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    text += static_cast<char>((0xFFU & ~(0xFFU >> (more + 1))) | character >> more * kBits);
    for (std::uint32_t i = more; i > 0; --i) {
      text += static_cast<char>(0x80U | (character >> (i - 1) * kBits & 0x3FU));
    }
  }
  static bool is_printable(const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return is_printable(static_cast<unsigned char>(c)); });
  }

  const Memory& memory_;
  const TableOrder& order_;
  const std::array<std::uint64_t, kTableWords>& table_;
};

/// Walks the numbers of a location table, six bits to a byte.
class LocationReader {
 public:
  explicit LocationReader(std::string_view bytes) : bytes_(bytes) {}

  bool is_at_end() const { return at_ >= bytes_.size(); }
  std::uint8_t next() { return is_at_end() ? std::uint8_t{0} : static_cast<std::uint8_t>(bytes_[at_++]); }

  std::uint32_t number() {
    constexpr std::uint32_t kBits = 6;
    constexpr std::uint8_t kMore = 0x40;
    constexpr std::uint8_t kValue = 0x3F;
    std::uint32_t result = 0;
    for (std::uint32_t shift = 0; shift < 32; shift += kBits) {
      const std::uint8_t byte = next();
      result |= std::uint32_t{static_cast<std::uint8_t>(byte & kValue)} << shift;
      if ((byte & kMore) == 0) {
        break;
      }
    }
    return result;
  }
  std::int64_t signed_number() {
    const std::uint32_t read = number();
    return (read & 1U) != 0 ? -static_cast<std::int64_t>(read >> 1U) : static_cast<std::int64_t>(read >> 1U);
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

/// Forms of an entry in a location table.
enum LocationForm : std::uint8_t {
  OneLine0 = 10,
  OneLine2 = 12,
  NoColumns = 13,
  Long = 14,
  None = 15
};

bool is_one_line(std::uint8_t form) {
  return form >= OneLine0 && form <= OneLine2;
}

/// Reads how many lines an entry is behind the one before.
std::int64_t read_line_step(LocationReader& reader, std::uint8_t form) {
  if (form == Long || form == NoColumns) {
    return reader.signed_number();
  }
  return is_one_line(form) ? form - OneLine0 : 0;
}

}  // namespace

int line_at(std::string_view locations, int first_line, std::uint64_t offset) {
  constexpr std::uint8_t kBegins = 0x80;
  constexpr std::uint64_t kBytesOfUnit = 2;
  LocationReader reader(locations);
  std::int64_t line = first_line;
  std::uint64_t end = 0;
  while (offset >= end) {
    const std::uint8_t head = reader.next();
    if ((head & kBegins) == 0) {
      return 0;
    }
    const std::uint8_t form = (head >> 3U) & 0x0FU;
    end += ((head & 7U) + 1U) * kBytesOfUnit;
    line += read_line_step(reader, form);
    // Reads past the columns of an entry, and the last line of a long one.
    if (form == Long) {
      (void)reader.number();
      (void)reader.number();
      (void)reader.number();
    } else if (form < NoColumns) {
      (void)reader.next();
      (void)(is_one_line(form) ? reader.next() : std::uint8_t{0});
    }
    if (offset < end && form == None) {
      return 0;
    }
  }
  return line < 0 || line > INT32_MAX ? 0 : static_cast<int>(line);
}

namespace {

/// The description of the interpreter by itself.
struct Description {
  const TableOrder* order = nullptr;
  std::array<std::uint64_t, kTableWords> table{};
};

Result<Description> read_description(const Memory& memory, std::uint64_t runtime) {
  Description found;
  std::array<char, kCookie.size()> cookie{};
  if (!memory.read(runtime, cookie.data(), cookie.size()) ||
      std::string_view(cookie.data(), cookie.size()) != kCookie ||
      !memory.read(runtime + cookie.size(), found.table.data(), sizeof found.table)) {
    return Error{ErrorKind::BadData, "the interpreter does not describe itself, as Python 3.13 and later do"};
  }
  constexpr std::uint64_t kMinorShift = 16;
  const std::uint64_t version = found.table[0] >> kMinorShift;
  found.order = std::ranges::find(kOrders, version, &TableOrder::version);
  if (found.order == kOrders.end()) {
    return Error{ErrorKind::BadData, "Python " + std::to_string(version >> 8U) + "." + std::to_string(version & 0xFFU) +
                                         " describes itself in a way that is not known here"};
  }
  const std::span<const std::uint64_t> used(found.table.data() + 2, found.order->text_data - 1);
  if (std::any_of(used.begin(), used.end(), [](std::uint64_t offset) { return offset > kMostOffset; })) {
    return Error{ErrorKind::BadData, "the interpreter's description of itself makes no sense"};
  }
  return found;
}

}  // namespace

Result<Stack> read_python_stack(const Memory& memory, std::uint64_t runtime, std::uint64_t thread) {
  const Description found = TRY(read_description(memory, runtime));
  return Reader(memory, *found.order, found.table).stack_of(runtime, thread);
}

std::vector<std::uint64_t> read_python_threads(const Memory& memory, std::uint64_t runtime) {
  const auto found = read_description(memory, runtime);
  return found ? Reader(memory, *found->order, found->table).threads(runtime) : std::vector<std::uint64_t>();
}

}  // namespace muster::hang
