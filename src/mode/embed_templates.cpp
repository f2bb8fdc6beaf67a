// Build tool: reads the YAML templates named on its command line, checks each as the program would
// and prints a C++ source that holds them as JSON. The program then starts without a YAML parser.
#include <muster/mode/mode_template.hpp>

#include <fstream>
#include <iostream>
#include <sstream>

namespace {

/// Prints one template, or says what is wrong with it.
bool embed(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  const auto document = muster::parse_yaml(text.str(), path);
  if (!document) {
    std::cerr << document.error().message << '\n';
    return false;
  }
  const auto mode = muster::read_template(*document, path);
  if (!mode) {
    std::cerr << mode.error().message << '\n';
    return false;
  }
  std::cout << "    {\"" << mode->name << "\", R\"json(" << muster::json::serialize(document->root)
            << ")json\"},\n";
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::cout
      << "// Generated from templates/modes by embed_templates.cpp.\n"
      << "#include \"mode/builtin_templates.hpp\"\n\n#include <array>\n\nnamespace muster {\n\n"
      << "std::span<const BuiltinTemplate> builtin_templates() {\n"
      << "  static constexpr auto kTemplates = std::to_array<BuiltinTemplate>({\n";
  for (int i = 1; i < argc; ++i) {
    if (!embed(argv[i])) {
      return 1;
    }
  }
  std::cout << "  });\n  return kTemplates;\n}\n\n}  // namespace muster\n";
  return 0;
}
