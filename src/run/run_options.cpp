// Decides about colours, about drawing on a terminal, and about the time before lines.
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

ConsoleClock make_console_clock(const RunOptions& options, WallTime start) {
  const bool is_shown_on_terminal =
      options.launcher ? options.launcher->terminals.error.has_value() : is_terminal(STDERR_FILENO);
  ConsoleClock clock{options.console_times.clock.form, start};
  if (clock.form == ConsoleTime::Auto) {
    clock.form = is_shown_on_terminal ? ConsoleTime::Off : ConsoleTime::Utc;
  }
  return clock;
}

}  // namespace muster
