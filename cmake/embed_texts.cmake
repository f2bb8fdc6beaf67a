# Makes a C++ source of text files: cmake -D FILES=A,B -D OUTPUT=FILE -P embed_texts.cmake
string(REPLACE "," ";" files "${FILES}")
set(source "// Generated from templates/manifests by embed_texts.cmake.\n#include \"render/manifest.hpp\"\n
#include <array>\n
namespace muster::render {\n
std::span<const ManifestText> manifest_texts() {
  static constexpr auto kTexts = std::to_array<ManifestText>({\n")
foreach(file IN LISTS files)
  file(READ "${file}" text)
  get_filename_component(name "${file}" NAME)
  string(APPEND source "    {\"${name}\", R\"text(${text})text\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "${source}  });\n  return kTexts;\n}\n\n}  // namespace muster::render\n")
