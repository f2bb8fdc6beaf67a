// Decides about colours, and about drawing on a terminal.
#include "run/run_options.hpp"

namespace muster {

bool is_dumb(const std::map<std::string, std::string>& variables) {
  const auto terminal = variables.find("TERM");
  return terminal != variables.end() && terminal->second == "dumb";
}

bool may_colour(int fd, When colour, const std::map<std::string, std::string>& variables) {
  if (colour != When::Auto) {
    return colour == When::Always;
  }
  const auto refused = variables.find("NO_COLOR");  // https://no-color.org
  return is_terminal(fd) && !is_dumb(variables) && (refused == variables.end() || refused->second.empty());
}

}  // namespace muster
