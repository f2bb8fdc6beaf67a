// The work for a template with many roles: allocations are counted, because a time differs from machine to machine.
#include "modes/read_template.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

namespace {

std::size_t g_allocations = 0;

}  // namespace

// NOLINTBEGIN(cppcoreguidelines-no-malloc,misc-new-delete-overloads): these are the program's own
void* operator new(std::size_t size) {
  ++g_allocations;
  if (void* const memory = std::malloc(size)) {
    return memory;
  }
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
// NOLINTEND(cppcoreguidelines-no-malloc,misc-new-delete-overloads)

namespace muster {
namespace {

std::size_t work_for(int roles) {
  std::string text = "mode: own\nroles:\n";
  for (int i = 0; i < roles; ++i) {
    const std::string name = "role-" + std::to_string(1'000 + i);
    text += "  - name: " + name + "\n    arguments: [\"{count:" + name + "}\"]\n";
  }
  const auto document = parse_yaml(text, "own.yaml");
  EXPECT_TRUE(document);
  const std::size_t before = g_allocations;
  EXPECT_TRUE(read_template(*document, "own.yaml"));
  return g_allocations - before;
}

TEST(TemplateWork, GrowsWithTheNumberOfRolesAlone) {
  EXPECT_LT(work_for(800), 5 * work_for(200));
}

}  // namespace
}  // namespace muster
