#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Of ASCII, whatever the locale says.
[[nodiscard]] constexpr bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Reads a plain decimal number from `least` to `most`: digits only, no sign, no blanks, no zeros
/// in front, the whole text. Anything else is empty, so that "", "+4", " 4", "04", "4.0" and
/// "99999999999" are all rejected.
[[nodiscard]] std::optional<int> parse_integer(std::string_view text, int least, int most);

/// Reads a duration in seconds, such as "30" or "0.5": digits with at most one point.
[[nodiscard]] std::optional<double> parse_seconds(std::string_view text);

/// Splits at every `separator`; empty pieces are kept, and the empty text gives no piece.
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);

[[nodiscard]] std::string join(std::span<const std::string> pieces, std::string_view separator);

/// The text without blanks, tabs and line ends at both ends.
[[nodiscard]] std::string_view trim(std::string_view text);

/// The text without the byte order mark that some editors write before it.
[[nodiscard]] std::string_view without_byte_order_mark(std::string_view text);

/// True where the name `one` goes before `other`, by the numbers in them: worker2 before worker10.
[[nodiscard]] bool is_before(std::string_view one, std::string_view other);

/// With small letters for capital ones; only the letters of ASCII have both.
[[nodiscard]] std::string lower_case(std::string text);

/// A word that says yes or no, in capitals too, as Python's strtobool has them: y, yes, t, true, on, 1 and their opposites.
[[nodiscard]] std::optional<bool> parse_boolean(const std::string& text);

/// The known name that is nearest to a mistyped one, if any is near enough to be meant: at most a
/// third of its letters differ, or it begins with what was typed.
[[nodiscard]] std::optional<std::string> nearest_name(std::string_view typed, std::span<const std::string> known);

/// "0-3, 7, 9-10" for a sorted list of numbers.
[[nodiscard]] std::string describe_ranges(std::span<const int> sorted);

/// The reverse of `describe_ranges`, with or without blanks: numbers from 0 to 65535, sorted, each
/// once. Empty for anything else, such as "3-1", "0-" or a text without a number.
[[nodiscard]] std::optional<std::vector<int>> parse_ranges(std::string_view text);

/// "1 worker", "4 workers".
[[nodiscard]] std::string count_of(std::size_t count, std::string_view noun);

/// Seconds with two digits, "1.25"; for people, not for machines.
[[nodiscard]] std::string format_seconds(double seconds);

/// A copy that is valid UTF-8: each byte that is not part of a valid sequence becomes U+FFFD.
[[nodiscard]] std::string valid_utf8(std::string_view bytes);

/// The same of at most `most` bytes, 3 or more: what is longer is cut between characters and ends with
/// "...".
[[nodiscard]] std::string shortened(std::string_view bytes, std::size_t most);

/// One word of bash, byte for byte and on one line; plain where nothing in it means anything to a shell.
[[nodiscard]] std::string shell_word(std::string_view text);

/// The words as a line of a shell.
[[nodiscard]] std::string shell_line(std::span<const std::string> words);

/// A byte that moves a terminal's cursor or worse, line ends and tabs too.
[[nodiscard]] bool is_control(char c);

/// `visible_line` of at most `most` bytes: what strangers wrote, fit for a line of ours.
[[nodiscard]] std::string one_line(std::string_view bytes, std::size_t most);

/// A name like "*_NNODES" or "VC_*_NUM": one '*' at most, for any text, also for none.
[[nodiscard]] bool matches_pattern(std::string_view name, std::string_view pattern);

/// True for names whose values are never shown: tokens, secrets, passwords, keys, credentials, in
/// capitals or not. "TOKENIZER", "MAX_TOKENS" and "PAD_TOKEN" are none.
[[nodiscard]] bool is_secret_name(std::string_view name);

/// The value, or "***" where the name is a secret's; in "name:password@host" and "://name@host" what stands
/// before the host.
[[nodiscard]] std::string masked(std::string_view name, const std::string& value);

/// Length of the valid UTF-8 sequence that `bytes`, which are not none, start with; 0 if they start with none.
[[nodiscard]] std::size_t utf8_sequence(std::string_view bytes);

/// The character of a valid sequence.
[[nodiscard]] char32_t utf8_character(std::string_view sequence);

}  // namespace muster
