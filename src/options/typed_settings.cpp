// Strict readers of single options.
#include "base/text.hpp"
#include "options/typed_settings.hpp"

namespace muster {
namespace {

std::string whole_seconds(double seconds) {
  return std::to_string(static_cast<long long>(seconds));
}

bool is_within(std::chrono::milliseconds duration, const DurationRange& range) {
  const double seconds = static_cast<double>(duration.count()) / 1000;
  return (seconds > range.least || (range.is_least_allowed && seconds == range.least)) &&
         (range.most == 0 || seconds <= range.most);
}

std::string describe(const DurationRange& range) {
  if (range.most > 0) {
    return "seconds from " + whole_seconds(range.least) + " to " + whole_seconds(range.most);
  }
  return range.is_least_allowed ? "seconds such as 30 or 0.5"
                                : "seconds above " + whole_seconds(range.least);
}

}  // namespace

bool is_on(const Settings& settings, std::string_view name) {
  const auto setting = settings.find(name);
  return setting && setting->value != "0";
}

Result<> read_duration(std::optional<std::chrono::milliseconds>& target,
                       const Settings& settings,
                       std::string_view name,
                       const DurationRange& range) {
  const auto setting = settings.find(name);
  if (!setting) {
    return {};
  }
  const auto seconds = parse_seconds(setting->value);
  const std::chrono::milliseconds duration(static_cast<long long>(seconds.value_or(0) * 1000));
  if (!seconds || !is_within(duration, range)) {
    return wrong_value(*setting, describe(range));
  }
  target = duration;
  return {};
}

Result<> read_duration(std::chrono::milliseconds& target,
                       const Settings& settings,
                       std::string_view name,
                       const DurationRange& range) {
  std::optional<std::chrono::milliseconds> given = target;
  if (auto read = read_duration(given, settings, name, range); !read) {
    return read;
  }
  target = *given;
  return {};
}

Result<> read_file_name(std::string& target, const Settings& settings, std::string_view name) {
  const auto file = settings.find(name);
  if (!file) {
    return {};
  }
  if (file->value.empty()) {
    return wrong_value(*file, "a file");
  }
  target = file->value;
  return {};
}

}  // namespace muster
