#pragma once

#include "base/result.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace muster {

struct Unmap {
  std::size_t bytes = 0;
  void operator()(void* memory) const { (void)::munmap(memory, bytes); }
};

/// Things that a process made later writes for us: what it has written is there, however it ends.
template <typename Thing>
using SharedThings = std::unique_ptr<Thing[], Unmap>;

/// All bytes of them are 0. `count` is not.
template <typename Thing>
[[nodiscard]] Result<SharedThings<Thing>> share_things(std::size_t count) {
  static_assert(std::is_trivial_v<Thing>);
  const std::size_t bytes = count * sizeof(Thing);
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {  // NOLINT(cppcoreguidelines-pro-type-cstyle-cast): the macro has it
    return system_error("cannot share memory with a process", errno);
  }
  return SharedThings<Thing>(static_cast<Thing*>(memory), Unmap{bytes});
}

}  // namespace muster
