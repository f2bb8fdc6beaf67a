#pragma once

// Reads the stack of a Python program from its memory, without stopping it. CPython describes itself since 3.13: a
// table of offsets (`_Py_DebugOffsets`, Include/internal/pycore_debug_offsets.h) begins `_PyRuntime`. The order of
// the table's entries differs between minor versions, so an unknown version is refused. Pure: `Memory` makes the
// system calls.

#include "base/result.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace muster::hang {

/// One call. `line` is 0 where the code has no line numbers.
struct Frame {
  std::string file;
  std::string function;
  int line = 0;
  auto operator<=>(const Frame&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// Limit of the frames that are read of a stack, from the innermost on.
inline constexpr std::size_t kMostFrames = 200;

/// Why there is no stack of a program that has no Python to read.
inline constexpr std::string_view kNotPython = "it is not Python";

/// The calls of one thread, innermost first.
using Stack = std::vector<Frame>;

/// A thread of a program.
struct Thread {
  std::uint64_t id = 0;  ///< of the kernel
  Stack stack;
  std::uint64_t cpu_ms = 0;  ///< 0: not known
};

/// Limit of the threads of a program whose stacks are read.
inline constexpr std::size_t kMostThreads = 64;

/// The memory of another process, which goes on meanwhile: parts that are read in turn may not fit together.
class Memory {
 public:
  virtual ~Memory() = default;

  /// False if not all bytes can be read.
  virtual bool read(std::uint64_t address, void* to, std::size_t size) const = 0;
};

/// The stack of the thread with this kernel id, or of the program's first thread if there is no such thread.
/// `runtime` is the address of `_PyRuntime`. Fails with `BadData` for another version of Python, or memory that makes
/// no sense. A stack that changes during the reading is cut short. Reads at most `kMostFrames`.
[[nodiscard]] Result<Stack> read_python_stack(const Memory& memory, std::uint64_t runtime, std::uint64_t thread);

/// The kernel ids of the program's threads, the newest first; empty if `read_python_stack` would fail.
std::vector<std::uint64_t> read_python_threads(const Memory& memory, std::uint64_t runtime);

/// The line of the instruction at `offset` bytes, by the code's location table (Objects/locations.md in CPython's
/// source). 0: it has none.
int line_at(std::string_view locations, int first_line, std::uint64_t offset);

}  // namespace muster::hang
