// The notes of a worker about its imports, which the worker's program may overwrite.
#include "fuzz.hpp"
#include "standby/standby_rules.hpp"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const standby::PythonProgram program{{"python3", "-m", "mine"}, "mine"};
  const standby::Imports imports = standby::read_imports(fuzz::text_of(data, size), program);
  const auto is_name = [](const std::string& name) {
    return !name.empty() && name.size() <= 256 && name.find_first_of("\n \t*-!/") == std::string::npos;
  };
  fuzz::require(std::ranges::all_of(imports.modules, is_name), "a standby gets names of modules alone");
  fuzz::require(std::ranges::all_of(imports.own, is_name), "so are the program's own");
  fuzz::require(imports.process == -1 || imports.process > 0, "a process has a pid");
  return 0;
}
