// Pure functions on text that more than one stage needs: strict numbers, lists, suggestions, UTF-8.
#include "base/text.hpp"

#include "base/display_text.hpp"
#include "base/format_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <numeric>

namespace muster {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

/// Levenshtein distance, one row at a time.
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::size_t> row(right.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= left.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t substitute = diagonal + (left[i - 1] == right[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

}  // namespace

std::string to_upper(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(upper, upper.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return upper;
}

std::optional<int> parse_integer(std::string_view text, int least, int most) {
  int value = 0;
  const char* const end = text.data() + text.size();
  if (text.empty() || !is_digit(text.front())) {  // from_chars would accept a minus sign
    return std::nullopt;
  }
  if (text.front() == '0' && text.size() > 1) {  // 010 is 8 in a shell and an error in Python
    return std::nullopt;
  }
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stopped != end || value < least || value > most) {
    return std::nullopt;
  }
  return value;
}

std::optional<double> parse_seconds(std::string_view text) {
  const auto is_allowed = [](char c) { return is_digit(c) || c == '.'; };
  if (text.empty() || !is_digit(text.front()) || !std::ranges::all_of(text, is_allowed)) {
    return std::nullopt;
  }
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  constexpr double kTenYears = 315'360'000;  // larger values overflow the kernel's timers
  if (error != std::errc{} || stopped != end || value > kTenYears) {
    return std::nullopt;
  }
  return value;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  if (text.empty()) {
    return pieces;
  }
  std::size_t start = 0;
  for (std::size_t at = text.find(separator); at != std::string_view::npos; at = text.find(separator, start)) {
    pieces.emplace_back(text.substr(start, at - start));
    start = at + 1;
  }
  pieces.emplace_back(text.substr(start));
  return pieces;
}

std::string join(std::span<const std::string> pieces, std::string_view separator) {
  std::string joined;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    joined += i == 0 ? std::string_view() : separator;
    joined += pieces[i];
  }
  return joined;
}

std::string join(std::span<const int> numbers, std::string_view separator) {
  std::vector<std::string> pieces;
  for (const int number : numbers) {
    pieces.push_back(std::to_string(number));
  }
  return join(pieces, separator);
}

bool replace_all(std::string& text, std::string_view what, std::string_view by) {
  const std::size_t first = text.find(what);
  for (std::size_t at = first; at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return first != std::string::npos;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.substr(text.starts_with(kMark) ? kMark.size() : 0);
}

bool is_before(std::string_view one, std::string_view other) {
  const auto digits_of = [](std::string_view text) {
    const auto* const end = std::ranges::find_if_not(text, is_digit);
    return text.substr(0, static_cast<std::size_t>(end - text.begin()));
  };
  const auto value_of = [](std::string_view digits) {
    return digits.substr(std::min(digits.find_first_not_of('0'), digits.size()));
  };
  const std::string_view whole = one;
  const std::string_view whole_other = other;
  while (!one.empty() && !other.empty()) {
    const std::string_view digits = digits_of(one);
    const std::string_view other_digits = digits_of(other);
    const std::string_view left = digits.empty() ? one.substr(0, 1) : value_of(digits);
    const std::string_view right = other_digits.empty() ? other.substr(0, 1) : value_of(other_digits);
    const bool are_numbers = !digits.empty() && !other_digits.empty();
    if (left != right) {
      return are_numbers && left.size() != right.size() ? left.size() < right.size() : left < right;
    }
    one.remove_prefix(std::max<std::size_t>(digits.size(), 1));
    other.remove_prefix(std::max<std::size_t>(other_digits.size(), 1));
  }
  return one.empty() == other.empty() ? whole < whole_other : one.empty();
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

std::string variable_spelling(std::string_view name) {
  std::string variable = to_upper(name);
  std::ranges::replace(variable, '-', '_');
  return variable;
}

std::optional<bool> parse_boolean(const std::string& text) {
  static constexpr std::array<std::string_view, 6> kOn = {"y", "yes", "t", "true", "on", "1"};
  static constexpr std::array<std::string_view, 6> kOff = {"n", "no", "f", "false", "off", "0"};
  const std::string word = lower_case(text);
  if (contains(kOn, word)) {
    return true;
  }
  return contains(kOff, word) ? std::optional(false) : std::nullopt;
}

std::optional<std::string> nearest_name(std::string_view typed, std::span<const std::string> known) {
  std::optional<std::string> nearest;
  std::size_t least = std::max<std::size_t>(1, typed.size() / 3) + 1;
  for (const std::string& name : known) {
    constexpr std::size_t kTellingLetters = 3;
    const bool is_beginning = typed.size() >= kTellingLetters && name.starts_with(typed);
    const std::size_t longer = std::max(typed.size(), name.size()) - std::min(typed.size(), name.size());
    if (longer >= least && !is_beginning) {  // not near, and it could have megabytes
      continue;
    }
    const std::size_t distance = is_beginning ? 1 : edit_distance(typed, name);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string> known, const std::string& otherwise) {
  const auto nearest = nearest_name(typed, known);
  return nearest ? "; did you mean '" + *nearest + "'?" : otherwise;
}

std::string describe_ranges(std::span<const int> sorted) {
  std::string text;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) {
      ++last;
    }
    text += text.empty() ? "" : ", ";
    text += std::to_string(sorted[i]);
    if (last > i) {
      text += "-" + std::to_string(sorted[last]);
    }
    i = last + 1;
  }
  return text;
}

std::optional<std::vector<int>> parse_ranges(std::string_view text, std::size_t most) {
  constexpr int kMost = 65'535;
  std::vector<std::pair<int, int>> ranges;
  for (const std::string& piece : split(text, ',')) {
    const std::string_view range = trim(piece);
    const std::size_t dash = range.find('-');
    const auto first = parse_integer(trim(range.substr(0, dash)), 0, kMost);
    const auto last = dash == std::string_view::npos ? first : parse_integer(trim(range.substr(dash + 1)), 0, kMost);
    if (!first || !last || *last < *first) {
      return std::nullopt;
    }
    ranges.emplace_back(*first, *last);
  }
  std::ranges::sort(ranges);
  std::size_t count = 0;
  for (int next = 0; auto& [first, last] : ranges) {  // each begins behind those before it
    first = std::max(first, next);
    next = std::max(next, last + 1);
    count += static_cast<std::size_t>(std::max(last + 1 - first, 0));
  }
  if (count == 0 || count > most) {
    return std::nullopt;
  }
  std::vector<int> numbers;
  numbers.reserve(count);
  for (const auto& [first, last] : ranges) {
    for (int number = first; number <= last; ++number) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

std::string count_of(std::size_t count, std::string_view noun) {
  const char* const ending = noun.ends_with('s') ? "es" : "s";
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : ending);
}

std::string format_seconds(double seconds) {
  return format_text("%.2f", seconds);
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr double kMebi = 1 << 20U;
  constexpr double kGibi = 1 << 30U;
  const auto size = static_cast<double>(bytes);
  const bool is_large = size >= kGibi;
  return format_text(is_large ? "%.1f GiB" : "%.0f MiB", size / (is_large ? kGibi : kMebi));
}

std::string valid_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = utf8_sequence(bytes);
    text += length == 0 ? std::string_view("\xEF\xBF\xBD") : bytes.substr(0, length);
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

std::string shortened(std::string_view bytes, std::size_t most) {
  constexpr std::string_view kCut = "...";
  constexpr std::size_t kLongestCharacter = 4;  // a character that is cut here is removed below
  std::string text = valid_utf8(bytes.substr(0, most + kLongestCharacter));
  if (text.size() <= most) {
    return text;
  }
  const auto is_inside = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U; };
  std::size_t size = most - kCut.size();
  while (size > 0 && is_inside(size)) {
    --size;
  }
  text.resize(size);
  text += kCut;
  return text;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,=@%+";
  // A word such as a=b is an assignment only before a command, and no word of this program stands there.
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) {
    return std::string(text);
  }
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else if (c == '\n') {
      word += "'$'\\n''";  // keeps the word on one line, so that no part of it is a line of the script
    } else {
      word += c;
    }
  }
  return word + "'";
}

bool is_shell(std::string_view name) {
  constexpr auto kShells = std::to_array<std::string_view>(
      {"sh", "bash", "dash", "ash", "ksh", "ksh93", "mksh", "zsh", "fish", "csh", "tcsh"});
  return std::ranges::find(kShells, name) != kShells.end();
}

std::string shell_line(std::span<const std::string> words) {
  std::string line;
  for (const std::string& word : words) {
    line += (line.empty() ? "" : " ") + shell_word(word);
  }
  return line;
}

bool is_control(char c) {
  constexpr char kDelete = 0x7F;
  return static_cast<unsigned char>(c) < ' ' || c == kDelete;
}

std::string one_line(std::string_view bytes, std::size_t most) {
  constexpr std::size_t kLongestCharacter = 4;  // a character that is cut here is removed below
  return shortened(visible_line(bytes.substr(0, most + kLongestCharacter)), most);
}

bool matches_pattern(std::string_view name, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) {
    return name == pattern;
  }
  const std::string_view start = pattern.substr(0, star);
  const std::string_view end = pattern.substr(star + 1);
  return name.size() >= start.size() + end.size() && name.starts_with(start) && name.ends_with(end);
}

namespace {

/// Length and second-byte range of the UTF-8 sequences with a given first byte, by table 3-7 of the Unicode standard
/// (well-formed sequences). Length 0: no sequence begins with it.
struct Utf8Form {
  std::size_t length = 0;
  std::uint8_t least_second = 0x80;
  std::uint8_t most_second = 0xBF;
};

Utf8Form utf8_form(std::uint8_t first) {
  if (first < 0x80) {
    return {.length = 1};
  }
  if (first < 0xC2 || first > 0xF4) {
    return {};
  }
  if (first < 0xE0) {
    return {.length = 2};
  }
  if (first < 0xF0) {  // excludes overlong forms and surrogates
    return {.length = 3,
            .least_second = static_cast<std::uint8_t>(first == 0xE0 ? 0xA0 : 0x80),
            .most_second = static_cast<std::uint8_t>(first == 0xED ? 0x9F : 0xBF)};
  }
  return {.length = 4,
          .least_second = static_cast<std::uint8_t>(first == 0xF0 ? 0x90 : 0x80),
          .most_second = static_cast<std::uint8_t>(first == 0xF4 ? 0x8F : 0xBF)};
}

}  // namespace

std::size_t utf8_sequence(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  const Utf8Form form = utf8_form(byte(0));
  if (form.length == 0 || bytes.size() < form.length) {
    return 0;
  }
  for (std::size_t i = 1; i < form.length; ++i) {
    const std::uint8_t least = i == 1 ? form.least_second : 0x80;
    const std::uint8_t most = i == 1 ? form.most_second : 0xBF;
    if (byte(i) < least || byte(i) > most) {
      return 0;
    }
  }
  return form.length;
}

char32_t utf8_character(std::string_view sequence) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(sequence[i]); };
  constexpr std::array<std::uint8_t, 5> kBitsOfFirst{0, 0x7F, 0x1F, 0x0F, 0x07};
  char32_t character = byte(0) & kBitsOfFirst.at(sequence.size());
  for (std::size_t i = 1; i < sequence.size(); ++i) {
    character = (character << 6U) | (byte(i) & 0x3FU);
  }
  return character;
}

}  // namespace muster
