// The segments of our program: dl_iterate_phdr(3), mlock(2), madvise(2).
#include "own_memory.hpp"

#include <link.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <vector>

namespace muster {
namespace {

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // Linux 5.14
#endif

/// What may not be locked is read at least; an older kernel begins with that, and does not wait for it.
void hold(void* begin, std::size_t size) {
  // Raw: the address sanitizer makes nothing of the wrapper.
  if (::syscall(SYS_mlock, begin, size) != 0 && ::madvise(begin, size, MADV_POPULATE_READ) != 0) {
    (void)::madvise(begin, size, MADV_WILLNEED);
  }
}

/// Of the program, or of a library.
int hold_segments(dl_phdr_info* object, std::size_t /*size*/, void* /*nothing*/) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD) {
      const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) / page * page;
      const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
      hold(reinterpret_cast<void*>(begin), end - begin);  // NOLINT: the linker's table has numbers
    }
  }
  return 0;  // go on
}

}  // namespace

void read_program() {
  std::ifstream program("/proc/self/exe", std::ios::binary);
  std::vector<char> part(1U << 20U);
  while (program.read(part.data(), static_cast<std::streamsize>(part.size()))) {
  }
}

void hold_program_in_memory() {
  (void)::dl_iterate_phdr(hold_segments, nullptr);
}

}  // namespace muster
