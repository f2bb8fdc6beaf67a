# What the program carries in it: names, versions, and the Debian packages that they came in, for
# `muster --version --verbose`. Where dpkg knows nothing of a library, its package stays empty.

# muster_debian_package(FILE RESULT): "NAME VERSION" of the package that a file belongs to, or "".
function(muster_debian_package file result)
  set(${result} "" PARENT_SCOPE)
  file(REAL_PATH "${file}" path)
  set(query dpkg-query)
  if(CMAKE_SYSROOT)
    file(REAL_PATH "${CMAKE_SYSROOT}" sysroot)
    cmake_path(IS_PREFIX sysroot "${path}" is_in_sysroot)
    if(is_in_sysroot)  # which has a list of packages of its own
      list(APPEND query --admindir=${sysroot}/var/lib/dpkg)
      string(REPLACE "${sysroot}/" "/" path "${path}")
    endif()
  endif()
  execute_process(COMMAND ${query} --search ${path}
    OUTPUT_VARIABLE found ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0 AND found MATCHES "^([^ ,]+): ")
    execute_process(COMMAND ${query} --show "--showformat=\${Package} \${Version}" ${CMAKE_MATCH_1}
      OUTPUT_VARIABLE package ERROR_QUIET)
    set(${result} "${package}" PARENT_SCOPE)
  endif()
endfunction()

# muster_compiler_file(NAME RESULT): where the compiler finds a file of its own, such as libc.a.
function(muster_compiler_file name result)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_EXE_LINKER_FLAGS}")  # a toolchain's own folders, perhaps
  if(CMAKE_SYSROOT)
    list(APPEND flags --sysroot=${CMAKE_SYSROOT})
  endif()
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${flags} -print-file-name=${name}
    OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(${result} "${path}" PARENT_SCOPE)
endfunction()

# Sets MUSTER_CARRIED to rows {name, version, package} in C++, and MUSTER_OPENSSL_PACKAGE and
# MUSTER_GLIBC_PACKAGE: these two say their versions themselves, when the program runs.
function(muster_list_carried)
  muster_compiler_file(libc.a libc)
  muster_compiler_file(libstdc++.a libstdcxx)
  get_target_property(boost Boost::json IMPORTED_LOCATION_RELEASE)
  if(NOT boost)
    get_target_property(boost Boost::json IMPORTED_LOCATION_NONE)
  endif()
  find_path(SPDLOG_HEADERS spdlog/spdlog.h)
  find_path(FMT_HEADERS fmt/core.h)
  file(STRINGS "${FMT_HEADERS}/fmt/core.h" fmt_version REGEX "#define FMT_VERSION ")
  string(REGEX REPLACE ".* 0*([0-9]+)([0-9][0-9])([0-9][0-9])$" "\\1.\\2.\\3" fmt_version "${fmt_version}")
  string(REGEX REPLACE "\\.0" "." fmt_version "${fmt_version}")
  find_path(ZLIB_HEADERS zlib.h)
  file(STRINGS "${ZLIB_HEADERS}/zlib.h" zlib_version REGEX "#define ZLIB_VERSION ")
  string(REGEX REPLACE ".*\"(.*)\"" "\\1" zlib_version "${zlib_version}")
  muster_debian_package("${OPENSSL_CRYPTO_STATIC}" openssl_package)
  muster_debian_package("${libc}" glibc_package)
  set(rows)
  foreach(row
      "libstdc++|${CMAKE_CXX_COMPILER_VERSION}|${libstdcxx}" "Boost|${Boost_VERSION}|${boost}"
      "yaml-cpp|${yaml-cpp_VERSION}|${YAML_CPP_STATIC}" "zlib|${zlib_version}|${ZLIB_STATIC}"
      "spdlog|${spdlog_VERSION}|${SPDLOG_HEADERS}/spdlog/spdlog.h" "fmt|${fmt_version}|${FMT_HEADERS}/fmt/core.h")
    string(REPLACE "|" ";" row "${row}")
    list(GET row 0 name)
    list(GET row 1 version)
    list(GET row 2 file)
    muster_debian_package("${file}" package)
    string(APPEND rows "    {\"${name}\", \"${version}\", \"${package}\"},\n")
  endforeach()
  set(MUSTER_CARRIED "${rows}" PARENT_SCOPE)
  set(MUSTER_OPENSSL_PACKAGE "${openssl_package}" PARENT_SCOPE)
  set(MUSTER_GLIBC_PACKAGE "${glibc_package}" PARENT_SCOPE)
endfunction()
