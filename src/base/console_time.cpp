// Writes moments as text.
#include "base/console_time.hpp"

#include <array>
#include <cstdio>
#include <ctime>

namespace muster {
namespace {

/// Milliseconds of the second in which `at` lies, from 0 to 999.
int milliseconds_of(WallTime at) {
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
  return static_cast<int>(((since % 1000) + 1000) % 1000);
}

std::time_t seconds_of(WallTime at) {
  return std::chrono::system_clock::to_time_t(std::chrono::floor<std::chrono::seconds>(at));
}

std::string date_and_time(const std::tm& parts) {
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts)};
}

/// Not by the C library, which reads the zone's file of the image for UTC, too.
std::string in_utc(WallTime at) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::seconds>(at) - day);
  std::array<char, 64> text{};
  const int size = std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d",
                                 static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                                 static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
                                 static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()));
  return {text.data(), static_cast<std::size_t>(size)};
}

/// With the offset from UTC, which ISO 8601 writes with a colon: "+01:00".
std::string in_local_time(WallTime at) {
  const std::time_t seconds = seconds_of(at);
  std::tm parts{};
  if (::localtime_r(&seconds, &parts) == nullptr) {
    return "";
  }
  const long minutes = parts.tm_gmtoff / 60;
  const long size = minutes < 0 ? -minutes : minutes;
  std::array<char, 32> offset{};
  const int length =
      std::snprintf(offset.data(), offset.size(), "%c%02ld:%02ld", minutes < 0 ? '-' : '+', size / 60, size % 60);
  return date_and_time(parts) + std::string(offset.data(), static_cast<std::size_t>(length));
}

std::string since(WallTime start, WallTime at) {
  const double seconds = std::chrono::duration<double>(at - start).count();
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), "%+.3f s", seconds);
  return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace

std::string utc_text(WallTime at) {
  return in_utc(at) + "Z";
}

std::string utc_text_with_milliseconds(WallTime at) {
  std::array<char, 16> fraction{};
  const int length = std::snprintf(fraction.data(), fraction.size(), ".%03dZ", milliseconds_of(at));
  return in_utc(at) + std::string(fraction.data(), static_cast<std::size_t>(length));
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
