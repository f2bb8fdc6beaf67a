// The notes of a worker about its imports, which the worker's program may overwrite.
#include "fuzz.hpp"
#include "standby/standby_rules.hpp"

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster;
  const standby::Imports imports = standby::read_imports(fuzz::text_of(data, size));
  const auto is_step = [](const std::string& step) {
    const std::string name = step.substr(0, step.find(' '));
    const std::string places = step.substr(name.size());
    return !name.empty() && name.size() <= 257 && name.find_first_of("\n\t-!/=") == std::string::npos &&
           places.find_first_not_of(" :0123456789") == std::string::npos;
  };
  fuzz::require(std::ranges::all_of(imports.steps, is_step), "a standby gets names of modules and numbers alone");
  const auto is_line = [](const standby::FileState& file) { return file.path.find('\n') == std::string::npos; };
  fuzz::require(std::ranges::all_of(imports.files, is_line), "a path is in one line");
  fuzz::require(imports.process == -1 || imports.process > 0, "a process has a pid");
  return 0;
}
