// The kernel's word on which file this program is.
#include "base/text.hpp"
#include "environment/own_program.hpp"

#include <unistd.h>

#include <filesystem>

namespace muster {
namespace {

bool is_program(const std::filesystem::path& file) {
  return ::access(file.c_str(), X_OK) == 0;
}

/// As a shell finds it. Empty: it is not there.
std::filesystem::path folder_of(std::string_view argv0, std::string_view search_path) {
  if (argv0.find('/') != std::string_view::npos) {
    return std::filesystem::path(argv0).parent_path();
  }
  for (const std::string& folder : split(search_path, ':')) {
    if (is_program(std::filesystem::path(folder) / argv0)) {
      return folder;
    }
  }
  return {};
}

}  // namespace

std::string program_path() {
  std::error_code failed;
  const std::string path = std::filesystem::read_symlink("/proc/self/exe", failed).string();
  const bool is_word = !failed && path.find_first_of(" \t\n:") == std::string::npos;
  return is_word ? path : "/proc/" + std::to_string(::getpid()) + "/exe";
}

std::array<std::string, 2> own_module_places() {
  std::error_code failed;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  return {(folder.parent_path() / "share/muster/python").string(),
          (folder.parent_path() / "python").string()};
}

std::string find_own_modules() {
  for (const std::string& place : own_module_places()) {
    if (::access((place + "/hfai/__init__.py").c_str(), R_OK) == 0) {
      return place;
    }
  }
  return {};
}

std::string find_own_python(std::string_view argv0, std::string_view search_path) {
  const std::filesystem::path bin = folder_of(argv0, search_path);
  const std::filesystem::path environment = bin / "..";
  std::error_code failed;
  const bool is_environment =
      !bin.empty() && (std::filesystem::exists(environment / "pyvenv.cfg", failed) ||
                       std::filesystem::exists(environment / "conda-meta", failed));
  const std::filesystem::path python = bin / "python3";
  return is_environment && is_program(python) ? python.string() : std::string();
}

}  // namespace muster
