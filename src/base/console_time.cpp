// Writes moments as text.
#include "base/console_time.hpp"

#include "base/format_text.hpp"

#include <array>
#include <ctime>

namespace muster {
namespace {

/// Not by the C library, which reads the zone's file of the image for UTC, too.
std::string in_utc(WallTime at) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::seconds>(at) - day);
  return format_text("%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                     static_cast<int>(time.seconds().count()));
}

/// With the offset from UTC, which ISO 8601 writes with a colon: "+01:00".
std::string in_local_time(WallTime at) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(at));
  std::tm parts{};
  if (::localtime_r(&seconds, &parts) == nullptr) {
    return "";
  }
  std::array<char, 64> text{};
  std::string local(text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S%z", &parts));
  return local.insert(local.size() - 2, 1, ':');
}

std::string since(WallTime start, WallTime at) {
  return format_text("%+.3f s", std::chrono::duration<double>(at - start).count());
}

}  // namespace

std::string utc_text(WallTime at) {
  return in_utc(at) + "Z";
}

std::string utc_text_with_milliseconds(WallTime at) {
  const auto part = std::chrono::floor<std::chrono::milliseconds>(at - std::chrono::floor<std::chrono::seconds>(at));
  return in_utc(at) + format_text(".%03dZ", static_cast<int>(part.count()));
}

std::string ConsoleClock::text(WallTime at) const {
  switch (form) {
    case ConsoleTime::Relative:
      return since(start, at);
    case ConsoleTime::Utc:
      return utc_text(at);
    case ConsoleTime::Local:
      return in_local_time(at);
    case ConsoleTime::Auto:
    case ConsoleTime::Off:
      break;
  }
  return "";
}

std::string ConsoleClock::now() const {
  const std::string time = form == ConsoleTime::Off ? "" : text(std::chrono::system_clock::now());
  return time.empty() ? time : time + " ";
}

}  // namespace muster
