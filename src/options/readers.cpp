// Reads the values of single options strictly.
#include "options/readers.hpp"

#include "base/text.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;

/// Reads seconds; a fraction of a millisecond is cut off.
std::optional<milliseconds> parse_duration(const std::string& text) {
  const auto seconds = parse_seconds(text);
  return seconds ? std::optional(milliseconds(static_cast<long long>(*seconds * 1000))) : std::nullopt;
}

}  // namespace

Result<std::string> read_text(const Sourced<std::string>& given) {
  return given.value;
}

Result<bool> read_whether_on(const Sourced<std::string>& given) {
  return given.value != "0";
}

Result<std::string> read_file_name(const Sourced<std::string>& given) {
  return given.value.empty() ? Result<std::string>(wrong_value(given, "a file")) : given.value;
}

Result<milliseconds> read_seconds(const Sourced<std::string>& given) {
  const auto duration = parse_duration(given.value);
  return duration && duration->count() >= 0 ? Result<milliseconds>(*duration)
                                            : wrong_value(given, "seconds such as 30 or 0.5");
}

Result<milliseconds> read_positive_seconds(const Sourced<std::string>& given) {
  const auto duration = parse_duration(given.value);
  return duration && duration->count() > 0 ? Result<milliseconds>(*duration) : wrong_value(given, "seconds above 0");
}

Result<milliseconds> read_seconds_within(const Sourced<std::string>& given, int least, int most) {
  const auto duration = parse_duration(given.value);
  if (!duration || *duration < std::chrono::seconds(least) || *duration > std::chrono::seconds(most)) {
    return wrong_value(given, "seconds from " + std::to_string(least) + " to " + std::to_string(most));
  }
  return *duration;
}

Result<int> read_integer(const Sourced<std::string>& given, int least, int most, std::string_view expected) {
  const auto number = parse_integer(given.value, least, most);
  return number ? Result<int>(*number) : wrong_value(given, expected);
}

Result<int> read_number_within(const Sourced<std::string>& given, int least, int most, std::string_view what) {
  return read_integer(given, least, most,
                      std::string(what) + " from " + std::to_string(least) + " to " + std::to_string(most));
}

Result<std::size_t> find_word(const Sourced<std::string>& given, std::string_view words) {
  std::size_t position = 0;
  for (std::string_view rest = words; !rest.empty(); ++position) {
    const std::string_view word = rest.substr(0, rest.find_first_of(", "));
    if (given.value == word) {
      return position;
    }
    rest.remove_prefix(word.size());
    for (const std::string_view between : {", ", " or "}) {
      rest.remove_prefix(rest.starts_with(between) ? between.size() : 0);
    }
  }
  return wrong_value(given, words);
}

}  // namespace muster
