# Makes a C++ source of a text file: cmake -D FILE=TEXT -D FUNCTION=NAME -D HEADER=FILE -D OUTPUT=FILE -P embed_text.cmake
# The function gives the text, as the header declares it. A literal has a limit that a list of words does not reach.
get_filename_component(name "${FILE}" NAME)
file(READ "${FILE}" text)
file(WRITE "${OUTPUT}" "// Generated from ${name} by embed_text.cmake.
#include \"${HEADER}\"\n
namespace muster {\n
std::string_view ${FUNCTION}() {
  static constexpr std::string_view kText = R\"text(${text})text\";
  return kText;
}\n\n}  // namespace muster\n")
