// Asks the system for memory in large pages.
#include "rank_table/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace muster::rank_table {
namespace {

constexpr std::size_t kLargePage = std::size_t{2}
                                   << 20;  // of x86-64, and of aarch64 with small ones of 4 KiB

std::align_val_t alignment_of(std::size_t size, std::size_t alignment) {
  return std::align_val_t(size < kLargePage ? alignment : std::max(alignment, kLargePage));
}

}  // namespace

void* LargePages::do_allocate(std::size_t size, std::size_t alignment) {
  void* const place = ::operator new(size, alignment_of(size, alignment));
  if (size >= kLargePage) {
    (void)::madvise(place, size, MADV_HUGEPAGE);  // a wish: a kernel without them has small ones
  }
  return place;
}

void LargePages::do_deallocate(void* place, std::size_t size, std::size_t alignment) {
  ::operator delete(place, alignment_of(size, alignment));
}

}  // namespace muster::rank_table
