#pragma once

// Finds the Python interpreter in a process and reads its stack. Nothing stops the process: process_vm_readv(2) asks
// only the kernel, which allows it to the same user. If Yama allows only ancestors, workers name the agent.

#include "base/result.hpp"
#include "hang/python_stack.hpp"

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::hang {

/// A line of /proc/PID/maps that belongs to a file.
struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;  ///< in the file
  bool is_writable = false;
  std::string path;
  bool operator==(const Mapping&) const = default;
};

/// The mappings of Python's executable and of its library; other lines and lines that make no sense are left out.
std::vector<Mapping> find_python_mappings(std::string_view maps);

/// The offset of a section in an ELF file of 64-bit little-endian numbers, read by `file`. Empty: it has none.
std::optional<std::uint64_t> find_section(const Memory& file, std::string_view name);

/// A process with a Python that describes itself. Reading may wait as long as the process itself waits for a page.
class PythonProcess {
 public:
  /// Fails with `NotFound`: not Python; `BadData`: it does not describe itself. The messages name no process, so that
  /// ranks are alike.
  [[nodiscard]] static Result<PythonProcess> find(pid_t process);

  /// The kernel ids of its threads, as `read_python_threads`.
  std::vector<std::uint64_t> threads() const;
  /// The stack of a thread, or of the first one if there is no such thread. Fails like `read_python_stack`, and with
  /// `System` if the kernel refuses, or the process has ended.
  [[nodiscard]] Result<Stack> read_stack(std::uint64_t thread) const;

 private:
  PythonProcess(pid_t process, std::uint64_t runtime) : process_(process), runtime_(runtime) {}

  pid_t process_;
  std::uint64_t runtime_;  ///< address of `_PyRuntime`
};

/// The stack of the main thread: `find` and `PythonProcess::read_stack` in one.
[[nodiscard]] Result<Stack> read_stack(pid_t process);

}  // namespace muster::hang
