#pragma once

// Makes text from outside, such as a worker's output, a host's name or a variable's value, safe to show on a
// terminal.

#include <cstddef>
#include <string>
#include <string_view>

namespace muster {

/// Columns that a character, given as its UTF-8 bytes, takes on a terminal: 0 where it is invisible or drawn over the
/// previous one, 2 where it is wide, else 1. Terminals may differ for new or rare characters.
int display_width(std::string_view character);

/// Columns of a text without line breaks. Bytes that are not UTF-8 take one each.
std::size_t columns_of_text(std::string_view text);

/// True for a space of any width.
bool is_blank(std::string_view character);

/// Replaces each character that a terminal acts upon or does not show (\x1b, \u202e) and each byte that is not UTF-8
/// (\xff) with an escape. Line ends, tabs and backslashes stay: people read paths in this text, and no program reads
/// it back. A second call changes nothing.
std::string escape_controls(std::string_view bytes);

/// Makes a worker's line safe for a terminal that several workers share. Colours, erasing to the end of the line,
/// line ends, tabs and returns pass. Erasing the whole line becomes erasing to its end, so that the prefix stays.
/// Other sequences that move the cursor or change the terminal are escaped. Bytes that are not UTF-8 pass, unless a
/// terminal may take them for a control.
std::string sanitize(std::string_view line);

/// Writes hidden characters of a JSON document in JSON's notation; the document's meaning does not change. (For YAML
/// with quoted texts, `escape_controls` does that.)
std::string visible_json(std::string_view document);

/// Replaces each Unicode blank, such as the no-break spaces of copied web pages, with ASCII's.
std::string with_plain_blanks(std::string_view text);

/// Escapes Unicode blanks as \u00a0, because they are invisible in an error about a value.
std::string with_visible_blanks(std::string_view text);

/// Replaces characters that only look like one of ASCII, such as an en dash, a typographic quote or a Cyrillic
/// letter. Removes characters without a width.
std::string with_ascii_twins(std::string_view text);

/// Describes the first character that only looks like one of ASCII: "; its '–' is U+2013, which only looks like '-'",
/// or "; its quotes belong to the value: docker's --env-file keeps them", without docker if the text `is_typed` on
/// the command line. Empty for other texts, also for those with other characters beyond ASCII.
std::string describe_lookalike(std::string_view text, bool is_typed);

/// Describes a text that nobody has filled in: ", and no shell has expanded this" if it has a shell's variable or
/// command, ", not a placeholder" if it has one such as "<N>"; otherwise empty.
std::string describe_unfilled(std::string_view text);
/// `describe_unfilled` for a text that is nothing but such a variable, command or placeholder; empty for all other texts.
std::string describe_wholly_unfilled(std::string_view text);

/// True for a name in capitals such as "MASTER_IP_HERE", as variables have and hardly any host has.
bool is_spelled_like_variable(std::string_view text);

/// `escape_controls` on one line: line ends and tabs become \n and \t.
std::string visible_line(std::string_view bytes);

}  // namespace muster
