#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Columns between two tab stops.
inline constexpr std::size_t kTab = 8;
/// How each line of muster's own begins.
inline constexpr std::string_view kBeginning = "muster: ";
/// A character that none of them begins with.
inline constexpr char kOther = '\x7f';

/// Knows the first columns of the line, whatever way they were written: over each other, moved, erased. Pure.
class TerminalLine {
 public:
  /// Of the terminal; 0: nobody knows, and no line goes on in the next.
  void set_width(std::size_t columns) { width_ = columns; }
  /// Lines that begin with the name of a host belong to muster, too: "[gpu-17] muster: ".
  void expect_hosts() { has_hosts_ = true; }

  /// A character that takes so many columns; one that cannot be read stands there as something.
  void put(char letter, std::size_t columns = 1);
  /// The last character again.
  void repeat(std::size_t times);
  void tab(std::size_t times = 1);
  void back_tab(std::size_t times);
  void back(std::size_t columns);
  void forward(std::size_t columns);
  void go_to(std::size_t column);
  /// For `restore`, which may be asked in another line.
  void save() { saved_ = column_; }
  void restore();
  /// To another line, in the same column. Which one nobody knows, and what stands there: it may still be this one.
  void change_row() { doubt(); }
  /// What is put moves what stands there already.
  void insert_from_now_on(bool is_on) { is_inserting_ = is_on; }
  /// A long line goes on in the next one.
  void wrap_from_now_on(bool is_on) { is_wrapping_ = is_on; }
  /// As the terminal is before anybody changes it.
  void reset();
  /// A new line.
  void begin();
  /// It goes on in a new row.
  void begin_row();
  /// Where in a line what follows stands differs from terminal to terminal, or nobody knows it.
  void doubt() { is_doubtful_ = true; }
  void erase_behind();
  void erase_before();
  void erase(std::size_t columns);
  void take_out(std::size_t columns);
  void insert(std::size_t columns);

  /// How the line begins, if it is as a line of muster's does: "muster: ".
  [[nodiscard]] std::string_view beginning() const;
  /// What was written last is as the beginning of a line of muster's, and on some terminal a row may begin with it.
  [[nodiscard]] bool may_begin() const;
  /// What was written last is marked.
  void note_mark() { said_ = 0; }

 private:
  void wrap(std::size_t columns);
  void follow(char letter);
  void write(char letter);
  void grow(std::size_t columns);

  std::size_t width_ = 0;
  bool has_hosts_ = false;
  bool is_doubtful_ = false;
  bool is_inserting_ = false;
  bool is_wrapping_ = true;
  std::size_t said_ = 0;  ///< letters of a beginning, one behind the other
  std::size_t column_ = 0;
  std::size_t saved_ = 0;  ///< a column
  char last_ = ' ';        ///< that was put
  std::string cells_;      ///< up to the last one in which something was, or over which the cursor went
};

/// Tells text from sequences as a terminal does: https://vt100.net/emu/dec_ansi_parser, as far as it matters here. What a sequence
/// does is decided by who asks. Memory is bounded. Pure.
class TerminalParser {
 public:
  enum class Kind {
    Nothing,          ///< a byte in the middle of a sequence
    Control,          ///< one of ASCII, such as a return: `last`; it is obeyed within a sequence, too
    PartOfCharacter,  ///< a byte of a character that takes several, and is not complete
    Character,        ///< `text`: its bytes; of several bytes they may be no UTF-8
    Escape,           ///< "ESC last"
    Choice,           ///< "ESC text last", such as that of letters, "ESC ( B"
    Sequence,         ///< "ESC [ text last", without zeros that lead
    String            ///< the beginning of a string for the terminal, such as its title
  };

  /// What a byte has completed.
  struct Event {
    Kind kind = Kind::Nothing;
    char last = 0;
    std::string_view text;  ///< until the next byte
  };

  [[nodiscard]] Event take(char c);

  /// What was begun, such as a title, has no end yet, and takes what follows.
  [[nodiscard]] bool is_within_sequence() const { return place_ != Place::Text; }
  /// It was ended by other means.
  void reset();

 private:
  /// Where in a sequence the terminal is.
  enum class Place {
    Text,
    Escape,       ///< behind ESC
    Choice,       ///< behind the beginning of a choice, "ESC ("
    Sequence,     ///< behind the beginning of a sequence, "ESC ["
    String,       ///< within a string that is for the terminal
    StringEscape  ///< behind an ESC in it
  };

  [[nodiscard]] Event take_text(char c);
  [[nodiscard]] Event take_long_character(char c);
  [[nodiscard]] Event begin_with(char second);
  [[nodiscard]] Event take_choice(char c);
  [[nodiscard]] Event take_sequence(char c);
  [[nodiscard]] Event take_string(char c);

  Place place_ = Place::Text;
  std::string character_;     ///< of several bytes, as far as it is here
  bool is_complete_ = false;  ///< that one
  std::string text_;          ///< what stands between the beginning of a sequence, or a choice, and its end
};

/// Of a sequence: "5;12", of which any may be left out, and is 0 then. What is no number is 0, too.
[[nodiscard]] std::vector<int> numbers_of(std::string_view text);

/// How often, or where: 1 is the usual number, and 0 means it.
[[nodiscard]] std::size_t count_at(std::size_t index, const std::vector<int>& numbers);

}  // namespace muster
