// Names the forms, and allocates documents in huge pages.
#include "rank_table/rank_table.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace muster::rank_table {

std::string_view name_of(Form form) {
  switch (form) {
    case Form::Groups:
      return "v0.1 (group_list)";
    case Form::Standard:
      return "without a version (group_list with rank_id)";
    case Form::Version1:
      return "v1.0 (server_list)";
    case Form::SuperPods:
      return "v1.2 (super_pod_list)";
    case Form::Version2:
      return "v2.0 (rank_list)";
  }
  return "unknown";
}

// Allocates memory in huge pages.

namespace {

constexpr std::size_t kLargePage = std::size_t{2} << 20;  // of x86-64, and of aarch64 with small ones of 4 KiB

std::align_val_t alignment_of(std::size_t size, std::size_t alignment) {
  return std::align_val_t(size < kLargePage ? alignment : std::max(alignment, kLargePage));
}

}  // namespace

void* LargePages::do_allocate(std::size_t size, std::size_t alignment) {
  void* const place = ::operator new(size, alignment_of(size, alignment));
  if (size >= kLargePage) {
    (void)::madvise(place, size, MADV_HUGEPAGE);  // advice only: a kernel without huge pages uses small ones
  }
  return place;
}

void LargePages::do_deallocate(void* place, std::size_t size, std::size_t alignment) {
  ::operator delete(place, alignment_of(size, alignment));
}

}  // namespace muster::rank_table
