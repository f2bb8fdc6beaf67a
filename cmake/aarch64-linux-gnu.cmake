# Compiles for 64-bit Arm on another machine: cmake --toolchain cmake/aarch64-linux-gnu.cmake
# -DCMAKE_SYSROOT=$(scripts/dev/sysroot aarch64). `scripts/build --target aarch64` does that.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

# What the build itself runs, such as the program for its manual page.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${CMAKE_SYSROOT})

# Libraries and headers are those of the sysroot and none of this machine's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# Debian's cross compiler has a C and a C++ library of its own, which it prefers to the sysroot's, and which get
# no security updates. So it is told each folder.
set(gcc_of_sysroot ${CMAKE_SYSROOT}/usr/lib/gcc/aarch64-linux-gnu/12)
string(JOIN " " CMAKE_CXX_FLAGS_INIT
  "-nostdinc -nostdinc++"
  "-isystem \"${CMAKE_SYSROOT}/usr/include/c++/12\""
  "-isystem \"${CMAKE_SYSROOT}/usr/include/aarch64-linux-gnu/c++/12\""
  "-isystem \"${gcc_of_sysroot}/include\""
  "-isystem \"${CMAKE_SYSROOT}/usr/include/aarch64-linux-gnu\""
  "-isystem \"${CMAKE_SYSROOT}/usr/include\""
  # Paths in the debug information are those of a machine that has the packages installed.
  "\"-ffile-prefix-map=${CMAKE_SYSROOT}=\"")
string(JOIN " " CMAKE_EXE_LINKER_FLAGS_INIT
  "\"-B${gcc_of_sysroot}\" \"-B${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu\""
  "\"-L${gcc_of_sysroot}\" \"-L${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu\"")
