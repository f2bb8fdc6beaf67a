#pragma once

// Where the values of a document live, which are many: those of 131,072 devices take 200 MB.

#include "base/json.hpp"

#include <cstddef>

namespace muster::rank_table {

/// Large pages where the system has them: to have every 4 KiB handed over takes as long as to fill them.
class LargePages : public json::memory_resource {
 protected:
  void* do_allocate(std::size_t size, std::size_t alignment) override;
  void do_deallocate(void* place, std::size_t size, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const json::memory_resource& other) const noexcept override {
    return this == &other;
  }
};

/// Of one document, and given back as a whole.
struct Memory {
  static constexpr std::size_t kFirstBlock = 64 << 10;  // bytes; each further one is twice as large

  LargePages pages;
  json::monotonic_resource values = json::monotonic_resource(kFirstBlock, &pages);
};

}  // namespace muster::rank_table
