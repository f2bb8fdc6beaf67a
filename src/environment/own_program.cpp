// The kernel's word on which file this program is.
#include <muster/environment/own_program.hpp>

#include <unistd.h>

#include <filesystem>

namespace muster {

std::string own_program() {
  std::error_code failed;
  const std::string path = std::filesystem::read_symlink("/proc/self/exe", failed).string();
  const bool is_word = !failed && path.find_first_of(" \t\n:") == std::string::npos;
  return is_word ? path : "/proc/" + std::to_string(::getpid()) + "/exe";
}

}  // namespace muster
