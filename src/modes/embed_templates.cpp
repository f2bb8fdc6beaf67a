// Build tool: reads the YAML templates named on its command line, resolves inheritance, checks each template as the
// program would, and prints a C++ source that holds them as JSON. The program then starts without a YAML parser.
#include "base/file_io.hpp"
#include "modes/read_template.hpp"

#include <iostream>

namespace {

using muster::Result;
using muster::TemplateDocument;

Result<TemplateDocument> read_document(const std::string& path) {
  auto document = TRY(muster::parse_yaml(muster::read_regular_file(path).value_or(""), path));
  return TemplateDocument{std::move(document), path};
}

/// "torchrun" of "templates/modes/torchrun.yaml".
std::string file_name(const std::string& path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  return file.substr(0, file.rfind('.'));
}

/// The line of the C++ source that holds a template.
Result<std::string> embedded(const TemplateDocument& given, const muster::Templates& known) {
  const auto expanded = TRY(muster::expand_template(given, known));
  const auto mode = TRY(muster::read_template(expanded, given.name));
  return "    {\"" + file_name(given.name) + "\", \"" + mode.name + "\", R\"json(" +
         muster::json::serialize(expanded.root) + ")json\"},\n";
}

/// The lines of all templates, in the order of the command line.
Result<std::string> embed(const std::vector<std::string>& paths) {
  std::vector<TemplateDocument> documents;
  muster::Templates known;
  for (const std::string& path : paths) {
    auto document = TRY(read_document(path));
    known[file_name(path)] = document;
    documents.push_back(std::move(document));
  }
  std::string text;
  for (const TemplateDocument& document : documents) {
    const auto line = TRY(embedded(document, known));
    text += line;
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const auto text = embed(std::vector<std::string>(argv + 1, argv + argc));
  if (!text) {
    std::cerr << text.error().message << '\n';
    return 1;
  }
  std::cout << "// Generated from templates/modes by embed_templates.cpp.\n"
            << "#include \"modes/mode_template.hpp\"\n\n#include <array>\n\nnamespace muster {\n\n"
            << "std::span<const BuiltinTemplate> builtin_templates() {\n"
            << "  static constexpr auto kTemplates = std::to_array<BuiltinTemplate>({\n"
            << *text << "  });\n  return kTemplates;\n}\n\n}  // namespace muster\n";
  return 0;
}
