// A ring of bytes. All atomics are in one order (the default): each side sets its flag and then looks at
// the other's counter, which nothing weaker makes safe.
#include "output/ring.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

namespace muster {

static_assert(
    std::atomic<std::uint64_t>::is_always_lock_free);  // a lock would be in one process only

Result<SharedRingBuffer> SharedRingBuffer::make() {
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {  // NOLINT(cppcoreguidelines-pro-type-cstyle-cast): the macro has it
    return system_error("cannot share memory with a process", errno);
  }
  return SharedRingBuffer(new (memory)
                              Shared);  // its bytes are not touched: no page before it is needed
}

SharedRingBuffer::SharedRingBuffer(SharedRingBuffer&& other) noexcept
    : shared_(std::exchange(other.shared_, nullptr)) {}

SharedRingBuffer::~SharedRingBuffer() {
  if (shared_ != nullptr) {
    (void)::munmap(shared_, sizeof(Shared));
  }
}

std::size_t SharedRingBuffer::put(std::string_view bytes) {
  const std::uint64_t start = shared_->put.load();
  const std::size_t count = std::min(bytes.size(), kBytes - size());
  const std::size_t offset = start % kBytes;
  const std::size_t until_end = std::min(count, kBytes - offset);
  std::memcpy(shared_->bytes + offset, bytes.data(), until_end);
  std::memcpy(shared_->bytes, bytes.data() + until_end, count - until_end);
  shared_->put.store(start + count);
  return count;
}

std::string_view SharedRingBuffer::next() const {
  const std::size_t offset = shared_->taken.load() % kBytes;
  return {shared_->bytes + offset, std::min(size(), kBytes - offset)};
}

void SharedRingBuffer::take(std::size_t count) {
  shared_->taken.store(shared_->taken.load() + count);
}

std::uint64_t SharedRingBuffer::lines() const {
  const std::string_view first = next();
  const std::string_view second(shared_->bytes, size() - std::min(size(), first.size()));
  return static_cast<std::uint64_t>(std::count(first.begin(), first.end(), '\n') +
                                    std::count(second.begin(), second.end(), '\n'));
}

}  // namespace muster
