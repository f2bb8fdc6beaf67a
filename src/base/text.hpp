#pragma once

// Parses, formats and masks text; independent of the locale.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// True where the list holds the value, such as a name.
template <typename List, typename Value>
constexpr bool contains(const List& list, const Value& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

/// The value at this key of the map, or `otherwise` if it has no such key.
template <typename Map, typename Key>
typename Map::mapped_type value_at(const Map& map, const Key& key, typename Map::mapped_type otherwise = {}) {
  const auto found = map.find(key);
  return found == map.end() ? otherwise : found->second;
}

/// True for letters and digits of ASCII, whatever the locale is.
constexpr bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Reads a plain decimal number from `least` to `most`: the whole text, digits only, no sign, blanks or leading
/// zeros. Empty for anything else, such as "", "+4", " 4", "04", "4.0" and "99999999999".
std::optional<int> parse_integer(std::string_view text, int least, int most);

/// Reads a duration in seconds, such as "30" or "0.5": digits with at most one point.
std::optional<double> parse_seconds(std::string_view text);

/// Splits at every `separator`; empty pieces are kept, and the empty text gives no piece.
std::vector<std::string> split(std::string_view text, char separator);

std::string join(std::span<const std::string> pieces, std::string_view separator);
std::string join(std::span<const int> numbers, std::string_view separator);

/// Replaces each `what` in `text`. True if there was one.
bool replace_all(std::string& text, std::string_view what, std::string_view by);

/// The text without blanks, tabs and line ends at both ends.
std::string_view trim(std::string_view text);

/// The text without the byte order mark that some editors write in front.
std::string_view without_byte_order_mark(std::string_view text);

/// Natural order of names: numbers in them compare by value, so worker2 is before worker10.
bool is_before(std::string_view one, std::string_view other);

/// Lowers ASCII letters only.
std::string lower_case(std::string text);

/// The name as variables are written: "nproc-per-node" is "NPROC_PER_NODE".
std::string variable_spelling(std::string_view name);

/// Reads a yes or no in any case, as Python's strtobool: y, yes, t, true, on, 1 and their opposites. Empty for other
/// words.
std::optional<bool> parse_boolean(const std::string& text);

/// The known name that is nearest to a mistyped one. Empty, unless at most a third of the letters differ, or the name
/// begins with the typed text.
std::optional<std::string> nearest_name(std::string_view typed, std::span<const std::string> known);

/// End of an error about a mistyped name: "; did you mean 'x'?", or `otherwise` if no known name is near.
std::string did_you_mean(std::string_view typed, std::span<const std::string> known, const std::string& otherwise = {});

/// "0-3, 7, 9-10" for a sorted list of numbers.
std::string describe_ranges(std::span<const int> sorted);

/// Limit of the numbers that `parse_ranges` returns.
inline constexpr std::size_t kMostOfRanges = 65'536;

/// Reverses `describe_ranges`, with or without blanks: numbers from 0 to 65535, sorted, without duplicates. Empty for
/// any other text, such as "3-1", "0-" or one without a number. Empty, too, for more than `most` numbers, without any
/// more work than reading: a short text may name very many numbers, again and again.
std::optional<std::vector<int>> parse_ranges(std::string_view text, std::size_t most = kMostOfRanges);

/// "1 worker", "4 workers".
std::string count_of(std::size_t count, std::string_view noun);

/// Seconds with two digits, "1.25"; for people, not for machines.
std::string format_seconds(double seconds);

/// "63.8 GiB", or "512 MiB" below one GiB; for people, not for machines.
std::string format_bytes(std::uint64_t bytes);

/// A copy that is valid UTF-8: each byte that is not part of a valid sequence becomes U+FFFD.
std::string valid_utf8(std::string_view bytes);

/// `valid_utf8` cut to at most `most` bytes (3 or more), between characters; a cut text ends with "...".
std::string shortened(std::string_view bytes, std::size_t most);

/// Quotes a word for bash, byte for byte and on one line; a word without special characters stays plain.
std::string shell_word(std::string_view text);

/// True for the file name of a shell.
bool is_shell(std::string_view name);

/// Quotes the words and joins them into a shell command.
std::string shell_line(std::span<const std::string> words);

/// True for control bytes, line ends and tabs included.
bool is_control(char c);

/// `visible_line` of at most `most` bytes, for text from outside in a message.
std::string one_line(std::string_view bytes, std::size_t most);

/// The text with ASCII letters as capitals.
std::string to_upper(std::string_view text);

/// Matches a pattern with at most one '*', such as "*_NNODES" or "VC_*_NUM"; '*' stands for any text, also the empty
/// one.
bool matches_pattern(std::string_view name, std::string_view pattern);

/// Length of the valid UTF-8 sequence at the start of `bytes`, which is not empty; 0 if there is none.
std::size_t utf8_sequence(std::string_view bytes);

/// The code point of a valid sequence.
char32_t utf8_character(std::string_view sequence);

}  // namespace muster
