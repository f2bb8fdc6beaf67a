#pragma once

// Writes moments as text, in one form for the console, events and the report, so that their lines can be laid beside
// those of the kernel and of other programs.

#include <chrono>
#include <string>

namespace muster {

/// The form of the time before lines on the console.
enum class ConsoleTime {
  Auto,  ///< Off where standard error is a terminal, else Utc
  Off,
  Relative,  ///< "+12.345 s", since muster's start
  Utc,       ///< "2026-11-28T16:30:01Z"
  Local      ///< "2026-11-28T17:30:01+01:00"
};

using WallTime = std::chrono::system_clock::time_point;

/// "2026-11-28T16:30:01Z": ISO 8601.
std::string utc_text(WallTime at);
/// "2026-11-28T16:30:01.250Z".
std::string utc_text_with_milliseconds(WallTime at);

/// Gives the time that stands before lines of the console.
struct ConsoleClock {
  ConsoleTime form = ConsoleTime::Off;
  WallTime start{};  ///< start of muster, from which Relative counts

  /// The time as the form says; empty for Off and Auto.
  std::string text(WallTime at) const;
  /// The time now and a blank; empty for Off.
  std::string now() const;
};

}  // namespace muster
