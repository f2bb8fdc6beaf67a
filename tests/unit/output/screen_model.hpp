#pragma once

// A small terminal for tests: the rows that a person sees of what muster writes for several workers.

#include "base/display_text.hpp"
#include "base/text.hpp"
#include "output/terminal/terminal_parser.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muster::testing_output {

/// Knows the controls that `sanitize` lets through and those that muster writes itself, and takes a note of any other.
class ScreenModel {
 public:
  /// `width_of_others`: columns of each character that is neither ASCII nor a blank, which differ between terminals;
  /// empty: as muster counts them.
  explicit ScreenModel(std::size_t columns, std::optional<std::size_t> width_of_others = {})
      : width_(columns), width_of_others_(width_of_others) {}

  void write(std::string_view bytes) {
    using Kind = TerminalParser::Kind;
    for (const char c : bytes) {
      const TerminalParser::Event event = parser_.take(c);
      if (event.kind == Kind::PartOfCharacter) {
        ++parts_;
      } else if (event.kind != Kind::Nothing) {
        put_parts(event.kind == Kind::Character ? event.text.size() - 1 : 0);
      }
      if (event.kind == Kind::Character) {
        put(event.text);
      } else if (event.kind == Kind::Control) {
        obey(event.last);
      } else if (event.kind == Kind::Sequence) {
        obey_sequence(event.last, parse_integer(event.text, 0, 1000).value_or(0));
      } else if (event.kind != Kind::Nothing && event.kind != Kind::PartOfCharacter) {
        unknown_ += event.last;
      }
    }
  }

  /// All rows that there ever were; a character that is not ASCII is a question mark in each of its columns.
  const std::vector<std::string>& rows() const { return rows_; }
  /// Controls that should not have come.
  const std::string& unknown() const { return unknown_; }
  /// Puts the cursor to the beginning of the next row, as the echo of an Enter does.
  void echo_enter() { obey('\n'); }

 private:
  std::string& row() {
    rows_.resize(std::max(rows_.size(), row_ + 1));
    return rows_[row_];
  }

  void put(std::string_view character) {
    const bool is_ascii = character.size() == 1;
    const std::size_t usual = static_cast<std::size_t>(display_width(character));
    const bool is_known = is_ascii || is_blank(character);
    const std::size_t columns = is_known ? usual : width_of_others_.value_or(usual);
    if (columns > 0 && column_ + columns > width_) {
      next_row();
    }
    const char letter = is_ascii ? character.front() : is_blank(character) ? ' ' : '?';
    for (std::size_t i = 0; i < columns; ++i) {
      row().resize(std::max(row().size(), column_ + 1), ' ');
      row()[column_++] = letter;
    }
  }

  /// Puts a replacement for each byte that began no character, all but the last ones.
  void put_parts(std::size_t last) {
    for (; parts_ > last; --parts_) {
      put("\xFF\xFF");
    }
    parts_ = 0;
  }

  void next_row() {
    ++row_;
    column_ = 0;
    (void)row();
  }

  void obey(char control) {
    if (control == '\n') {
      next_row();
    } else if (control == '\r') {
      column_ = 0;
    } else if (control == '\b') {
      column_ = std::min(column_, width_ - 1);
      column_ -= std::min<std::size_t>(column_, 1);
    } else if (control == '\t') {
      column_ = std::max(column_, std::min((column_ / kTab + 1) * kTab, width_ - 1));
      row().resize(std::max(row().size(), column_), ' ');
    } else {
      unknown_ += control;
    }
  }

  void obey_sequence(char last, int what) {
    if (last == 'K' && what == 0) {
      column_ = std::min(column_, width_ - 1);  // xterm forgets that a next row was due
      row().resize(std::min(row().size(), column_));
    } else if (last == 'J' && what == 0) {
      rows_.resize(row_ + 1);
      row().resize(std::min(row().size(), column_));
    } else if (last == 'A') {
      row_ -= std::min(row_, static_cast<std::size_t>(std::max(what, 1)));
      column_ = std::min(column_, width_ - 1);
    } else if (last != 'm') {
      unknown_ += last;
    }
  }

  std::size_t width_;
  std::optional<std::size_t> width_of_others_;
  TerminalParser parser_;
  std::vector<std::string> rows_{1};
  std::size_t row_ = 0;
  std::size_t column_ = 0;
  std::size_t parts_ = 0;  ///< bytes of a character that is not complete
  std::string unknown_;
};

/// True for a row that looks like a message of muster; with hosts, also for one with the name of a host.
inline bool looks_like_muster(std::string_view row, bool has_hosts) {
  const bool has_name = row.starts_with('[');
  const std::size_t end = row.find("] ");
  const std::string_view name = has_name && end != std::string_view::npos ? row.substr(1, end - 1) : std::string_view();
  const bool is_host = has_hosts && name.find_first_not_of("0123456789:") != std::string_view::npos;
  return (is_host ? row.substr(end + 2) : row).starts_with("muster: ");
}

}  // namespace muster::testing_output
