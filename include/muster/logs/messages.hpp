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

/// Decides the least level that is said and whether levels are coloured. Until `send_messages_to`
/// is called, lines are written to standard error at once.
void set_up_messages(Level least, bool with_colour);

/// From here on lines name this host; empty: none.
void name_speaker(const std::string& host);

/// Hands every further line to `sink`; an empty function restores standard error.
void send_messages_to(MessageSink sink);

void say(Level level, std::string_view message);

/// False when messages of this level are not shown, so that nobody need compose them.
[[nodiscard]] bool is_said(Level level);

inline void say_debug(std::string_view message) {
  say(Level::Debug, message);
}
inline void say_info(std::string_view message) {
  say(Level::Info, message);
}
inline void say_warning(std::string_view message) {
  say(Level::Warning, message);
}
inline void say_error(std::string_view message) {
  say(Level::Error, message);
}

}  // namespace muster
