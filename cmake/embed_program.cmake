# Makes a C++ source of a program: cmake -D FILE=PROGRAM -D OUTPUT=FILE -P embed_program.cmake
file(READ "${FILE}" bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" bytes "${bytes}")
string(LENGTH "${bytes}" length)
math(EXPR size "${length} / 4")
# A literal for each line's worth of bytes: compilers limit the length of one.
set(lines "")
set(at 0)
while(at LESS length)
  string(SUBSTRING "${bytes}" ${at} 400 line)
  string(APPEND lines "    \"${line}\"\n")
  math(EXPR at "${at} + 400")
endwhile()
file(WRITE "${OUTPUT}" "// Generated from ${FILE} by embed_program.cmake.
#include \"services/mpi/pmix_frames.hpp\"\n
namespace muster::mpi {\n
std::string_view pmix_server_program() {
  static constexpr char kBytes[] =\n${lines}      ;
  return {kBytes, ${size}};
}\n
}  // namespace muster::mpi\n")
