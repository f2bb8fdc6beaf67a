#pragma once

#include <functional>
#include <string>
#include <string_view>

// What muster itself says, on standard error, each line beginning "muster: ", or where a front gathers the
// lines of several hosts, "[host] muster: ". What a message holds of others is made visible here
// (base/visible.hpp). The one door to spdlog, which filters by level and formats.

namespace muster {

enum class Level {
  Debug,
  Info,
  Warning,
  Error
};

/// Takes one finished line, with its line end.
using MessageSink = std::function<void(std::string_view line)>;

/// Decides the least level that is said and whether levels are coloured. Lines are written to standard error at
/// once, unless `buffer_log` or `set_log_sink` says otherwise.
void set_up_messages(Level least, bool with_colour);

/// From here on lines name this host; empty: none.
void set_log_host(const std::string& host);

/// From here on waits for nobody: a line that standard error may not take at once is kept until there is somebody to take it, and so
/// is every further one. It may be a file that takes nothing, for as long as it wants.
void buffer_log();

/// What is kept goes to standard error, and so does what follows.
void flush_log();

/// Hands what is kept and every further line to `sink`. An empty function restores standard error, and forgets what
/// is kept: somebody else says it.
void set_log_sink(MessageSink sink);

void say(Level level, std::string_view message);

/// False when messages of this level are not shown, so that nobody need compose them.
[[nodiscard]] bool is_said(Level level);

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
