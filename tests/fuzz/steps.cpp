// Counts the steps that a reader takes for an input, and ends the run where these grow faster than the input. A step is a
// comparison that the compiler has marked, a byte that is searched or copied, or a byte of memory asked for: the count
// is the same on each machine, where a time is not. The linker leads the calls here (--wrap).
#include "fuzz.hpp"

#include <cstring>

namespace muster::fuzz {
namespace {

#ifndef MUSTER_FUZZ_STEPS
#define MUSTER_FUZZ_STEPS 1'000'000
#endif

/// Steps of any input: readers have limits of their own for what a short one may ask for. For a target with a
/// large one CMakeLists.txt says more.
constexpr std::uint64_t kSteps = MUSTER_FUZZ_STEPS;
constexpr std::uint64_t kStepsOfByte = 500;

std::uint64_t g_steps = 0;
std::uint64_t g_most = UINT64_MAX;

}  // namespace

/// Inlined into each comparison of the program.
inline void count(std::uint64_t steps) {
  g_steps += steps;
  if (g_steps > g_most) {
    g_most = UINT64_MAX;  // the end of the run compares, too
    require(false, "the steps for an input grow with its size alone");
  }
}

}  // namespace muster::fuzz

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names
#define MUSTER_COUNT_COMPARISONS(name, type) \
  void __real_##name(type one, type other);  \
  void __wrap_##name(type one, type other) { \
    muster::fuzz::count(1);                  \
    __real_##name(one, other);               \
  }

extern "C" {
MUSTER_COUNT_COMPARISONS(__sanitizer_cov_trace_cmp1, std::uint8_t)
MUSTER_COUNT_COMPARISONS(__sanitizer_cov_trace_cmp2, std::uint16_t)
MUSTER_COUNT_COMPARISONS(__sanitizer_cov_trace_cmp4, std::uint32_t)
MUSTER_COUNT_COMPARISONS(__sanitizer_cov_trace_cmp8, std::uint64_t)
MUSTER_COUNT_COMPARISONS(__sanitizer_cov_trace_const_cmp1, std::uint8_t)
MUSTER_COUNT_COMPARISONS(__sanitizer_cov_trace_const_cmp2, std::uint16_t)
MUSTER_COUNT_COMPARISONS(__sanitizer_cov_trace_const_cmp4, std::uint32_t)
MUSTER_COUNT_COMPARISONS(__sanitizer_cov_trace_const_cmp8, std::uint64_t)

void __real___sanitizer_cov_trace_switch(std::uint64_t value, std::uint64_t* cases);
void __wrap___sanitizer_cov_trace_switch(std::uint64_t value, std::uint64_t* cases) {
  muster::fuzz::count(1);
  __real___sanitizer_cov_trace_switch(value, cases);
}

void* __real_memchr(const void* bytes, int wanted, std::size_t size);
void* __wrap_memchr(const void* bytes, int wanted, std::size_t size) {
  void* const found = __real_memchr(bytes, wanted, size);
  muster::fuzz::count(
      found == nullptr ? size
                       : static_cast<std::size_t>(static_cast<const char*>(found) - static_cast<const char*>(bytes)));
  return found;
}

void* __real___asan_memcpy(void* to, const void* from, std::size_t size);
void* __wrap___asan_memcpy(void* to, const void* from, std::size_t size) {
  muster::fuzz::count(size);
  return __real___asan_memcpy(to, from, size);
}
void* __real___asan_memmove(void* to, const void* from, std::size_t size);
void* __wrap___asan_memmove(void* to, const void* from, std::size_t size) {
  muster::fuzz::count(size);
  return __real___asan_memmove(to, from, size);
}

int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void*, std::size_t),
                                              void (*freed)(const volatile void*));

int __real_LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
int __wrap_LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster::fuzz;
  static const int hooks = __sanitizer_install_malloc_and_free_hooks(
      [](const volatile void* /*bytes*/, std::size_t asked) { count(asked); }, [](const volatile void* /*bytes*/) {});
  require(hooks > 0, "memory is counted");
  g_steps = 0;
  g_most = kSteps + kStepsOfByte * size;
  const int result = __real_LLVMFuzzerTestOneInput(data, size);
  g_most = UINT64_MAX;
  if (std::getenv("MUSTER_FUZZ_SHOW_STEPS") != nullptr) {
    std::fprintf(stderr, "steps %llu of %zu bytes\n", static_cast<unsigned long long>(g_steps), size);
  }
  return result;
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
