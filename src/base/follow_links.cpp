// Links are followed one by one, since the last of them may lead to what is not there.
#include "base/follow_links.hpp"

namespace muster {

std::filesystem::path follow_links(std::filesystem::path path, std::error_code& failed) {
  constexpr int kMost = 40;  // as many as the kernel follows
  failed.clear();
  for (int links = 0; links <= kMost; ++links) {
    std::error_code is_no_link;
    const std::filesystem::path target = std::filesystem::read_symlink(path, is_no_link);
    if (is_no_link) {
      return path;
    }
    path = path.parent_path() / target;  // an absolute target replaces all of it
  }
  failed = std::make_error_code(std::errc::too_many_symbolic_link_levels);
  return path;
}

}  // namespace muster
