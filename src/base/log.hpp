#pragma once

// Writes muster's messages to standard error. Each line begins with "muster: ", or where one launcher prints the
// lines of several hosts, "[host] muster: "; the time stands before it (--console-time). Hidden characters are escaped (base/display_text.hpp). Wraps spdlog,
// which filters by level.

#include "base/console_time.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace muster {

/// The level of a message. The numbers are those of spdlog's levels.
enum class Level {
  Debug = 1,
  Info,
  Warning,
  Error
};

/// Takes one finished line with its line end.
using MessageSink = std::function<void(std::string_view line)>;

/// Sets the lowest level that is shown and whether levels are coloured. Lines are written to standard error at once,
/// until `buffer_log` or `set_log_sink`.
void set_up_messages(Level least, bool with_colour);

/// Adds a host to the prefix of later lines; an empty one removes it.
void set_log_host(const std::string& host);

/// Puts the time before later lines.
void set_log_clock(const ConsoleClock& clock);

/// From now on never blocks: lines are kept in memory, because standard error may be a file whose file system hangs.
void buffer_log();

/// Writes the kept lines to standard error and ends the buffering.
void flush_log();

/// Hands the kept lines and every later one to `sink`. An empty function restores standard error and drops the kept
/// lines: another process prints them.
void set_log_sink(MessageSink sink);

void say(Level level, std::string_view message);

/// False when messages of this level are not shown, so that the caller need not compose them.
bool is_logged(Level level);

inline void log_debug(std::string_view message) {
  say(Level::Debug, message);
}
inline void log_info(std::string_view message) {
  say(Level::Info, message);
}
inline void log_warning(std::string_view message) {
  say(Level::Warning, message);
}
inline void log_error(std::string_view message) {
  say(Level::Error, message);
}

}  // namespace muster
