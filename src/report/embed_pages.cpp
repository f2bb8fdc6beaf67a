// Build tool: packs the pages named on its command line, and prints a C++ source that holds them.
#include "base/encoding.hpp"
#include "base/file_io.hpp"

#include <array>
#include <cstdio>
#include <iostream>
#include <string>

namespace {

constexpr std::size_t kBytesPerLine = 100;

/// Each page behind a line with a form feed and its file's name.
std::string join(int count, char** paths) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    const std::string path = paths[i];
    text += "\f" + path.substr(path.rfind('/') + 1) + "\n" + muster::read_regular_file(path).value_or("");
  }
  return text;
}

std::string literal(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += kBytesPerLine) {
    text += "      \"";
    for (const char byte : bytes.substr(at, kBytesPerLine)) {
      std::array<char, 8> escaped{};
      (void)std::snprintf(escaped.data(), escaped.size(), "\\%03o", static_cast<unsigned char>(byte));
      text += escaped.data();
    }
    text += "\"\n";
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string pages = join(argc - 1, argv + 1);
  const std::string packed = muster::compress(pages);
  std::cout
      << "// Generated from docs/ by embed_pages.cpp.\n#include \"report/message_table.hpp\"\n\nnamespace muster {\n\n"
      << "PackedPages packed_message_pages() {\n  static constexpr char kBytes[] =\n"
      << literal(packed) << "      ;\n  return {{kBytes, " << packed.size() << "}, " << pages.size() << "};\n}\n\n"
      << "}  // namespace muster\n";
  return 0;
}
