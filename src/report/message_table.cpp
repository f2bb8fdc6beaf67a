// Reads the rows of the pages of messages, and finds the row of a message.
#include "report/message_table.hpp"

#include "base/encoding.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <type_traits>
#include <utility>

namespace muster {
namespace {

constexpr std::size_t kLeastWords = 2;  // of a message in the index; single words are find_word's

// The pages.

/// The cells of a row of a table; a bar behind a backslash belongs to its cell.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  std::string cell;
  for (std::size_t i = 1; i < line.size(); ++i) {  // the first bar begins the row
    if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == '|') {
      cell += line[++i];
    } else if (line[i] == '|') {
      cells.emplace_back(trim(cell));
      cell.clear();
    } else {
      cell += line[i];
    }
  }
  return cells;
}

/// The texts between backquotes.
std::vector<std::string> quoted_in(std::string_view cell) {
  std::vector<std::string> texts;
  for (std::size_t begin = cell.find('`'); begin != std::string_view::npos; begin = cell.find('`', begin)) {
    const std::size_t end = cell.find('`', begin + 1);
    if (end == std::string_view::npos) {
      break;
    }
    texts.emplace_back(cell.substr(begin + 1, end - begin - 1));
    begin = end + 1;
  }
  return texts;
}

/// Markdown as plain text: a link becomes its text, emphasis goes, and what is quoted stands in single quotes. After
/// "see" a link to another page also names this page.
std::string plain(std::string_view markdown) {
  std::string text;
  bool is_reference = false;
  for (std::size_t i = 0; i < markdown.size(); ++i) {
    const char c = markdown[i];
    const bool ends_link = c == ']' && i + 1 < markdown.size() && markdown[i + 1] == '(';
    const std::size_t end = ends_link ? markdown.find(')', i) : std::string_view::npos;
    is_reference = c == '[' ? text.ends_with("see ") || text.ends_with("See ") : is_reference;
    if (end != std::string_view::npos) {
      const std::string_view page = markdown.substr(i + 2, markdown.find_first_of("#)", i) - i - 2);
      text += is_reference && !text.ends_with(page) ? " in docs/" + std::string(page) : "";
      i = end;
    } else if (c != '[' && c != '*') {
      text += c == '`' ? '\'' : c;
    }
  }
  return text;
}

struct TableRow {
  std::vector<std::string> cells;  ///< at least two
  std::string section;
  std::string introduction;  ///< what stands between the heading and the table
};

/// The rows of all tables of a page whose first column has that name.
std::vector<TableRow> read_tables(std::string_view markdown, std::string_view first_column) {
  std::vector<TableRow> rows;
  std::string section;
  std::string introduction;
  bool is_wanted = false;
  bool is_heading = true;  // of a table
  for (std::size_t at = 0; at < markdown.size();) {
    const std::size_t end = std::min(markdown.find('\n', at), markdown.size());
    const std::string_view line = markdown.substr(at, end - at);
    at = end + 1;
    if (line.starts_with('#')) {
      section = trim(line.substr(line.find_first_not_of('#')));
      introduction.clear();
      is_heading = true;
      continue;
    }
    if (!line.starts_with('|')) {
      is_heading = true;
      introduction.append(line).append(line.empty() ? "" : " ");
      continue;
    }
    std::vector<std::string> cells = cells_of(line);
    if (std::exchange(is_heading, false)) {
      is_wanted = !cells.empty() && cells.front() == first_column;
    } else if (is_wanted && cells.size() > 1 && !cells.front().starts_with("---")) {
      rows.push_back({std::move(cells), section, introduction});
    }
  }
  return rows;
}

/// Names and contents of the pages in the program.
std::vector<std::pair<std::string, std::string>> known_pages() {
  const PackedPages packed = packed_message_pages();
  const auto text = decompress(packed.bytes, packed.size);
  std::vector<std::pair<std::string, std::string>> pages;
  for (const std::string& page : split(text ? *text : std::string(), '\f')) {
    const std::size_t name = std::min(page.find('\n'), page.size());
    pages.emplace_back(page.substr(0, name), page.substr(name));
  }
  return pages;
}

/// The meaning of a row of messages, as text that can be read without the table.
std::string meaning_of(const TableRow& row) {
  constexpr std::ptrdiff_t kFewBlanks = 6;
  std::string own = plain(row.cells.back());
  if (row.cells.size() > 2) {  // a symptom, with its meaning and what to do
    return plain(row.cells[1]) + " " + own;
  }
  if (std::ranges::count(own, ' ') < kFewBlanks) {
    own.append(own.empty() || row.introduction.empty() ? "" : " ").append(trim(plain(row.introduction)));
  }
  return own;
}

// Compares two messages by their words and pairs of words, of which rare ones and the first ones count more.

/// The text without what stands in single quotes, which differs from run to run. An apostrophe behind a letter quotes
/// nothing.
std::string without_quoted(std::string_view text) {
  std::string kept;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = text[i] == '\'' && (i == 0 || !is_letter_or_digit(text[i - 1]));
    const std::size_t end = begins ? text.find('\'', i + 1) : std::string_view::npos;
    if (end != std::string_view::npos) {
      i = end;
    }
    kept += end == std::string_view::npos ? text[i] : ' ';
  }
  return kept;
}

/// True for a host's address in brackets.
bool is_address(std::string_view piece) {
  return piece.find_first_of("0123456789") != std::string_view::npos &&
         piece.find_first_not_of("(0123456789abcdef.:),;") == std::string_view::npos;
}

/// The text without the descriptions of signals: `SIGSEGV (Segmentation fault)` becomes `SIGSEGV`.
std::string without_descriptions(std::string text) {
  constexpr std::string_view kSignal = "SIG";
  for (std::size_t at = text.find(kSignal); at != std::string::npos; at = text.find(kSignal, at + 1)) {
    const std::size_t begin = std::min(text.find(' ', at), text.size());
    const std::size_t end = text.compare(begin, 2, " (") == 0 ? text.find(')', begin) : std::string::npos;
    text.erase(begin, end == std::string::npos ? 0 : end + 1 - begin);
  }
  return text;
}

/// True for a name in front of a number, as in `train.py:212` and `node-a:29500,`.
bool is_place(std::string_view piece) {
  const std::string_view place = piece.substr(0, piece.find_last_not_of(":;,.)") + 1);
  const std::size_t colon = place.rfind(':');
  return colon != std::string_view::npos && colon > 0 && colon + 1 < place.size() &&
         place.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
}

/// Empties the pieces that name a place, and the function behind it: the names in `train.py:212 in load_shard`.
void empty_places(std::vector<std::string>& pieces) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (is_place(pieces[i])) {
      pieces[i].clear();
      if (i + 2 < pieces.size() && pieces[i + 1] == "in") {
        pieces[i + 2].clear();
      }
    }
  }
}

/// The pieces between blanks without names of hosts, programs and places, which differ from run to run, too: the names
/// in `node 0 (node-a)`, `(node-a, pid 7)`, `pid 7 (python3)`, `gpu-17 (10.0.0.4)` and `train.py:212 in load_shard`.
std::vector<std::string> pieces_of(std::string_view text) {
  std::vector<std::string> pieces;
  for (std::string& piece : split(without_descriptions(without_quoted(text)), ' ')) {
    const bool is_in_brackets = piece.starts_with('(') && piece.find(')') != std::string::npos && !pieces.empty();
    const bool is_behind_number = is_in_brackets && pieces.back().find_first_not_of("0123456789") == std::string::npos;
    const bool is_behind_host =
        piece == "pid" && !pieces.empty() && pieces.back().starts_with('(') && pieces.back().ends_with(',');
    const bool is_address_of_host = is_in_brackets && !is_behind_number && is_address(piece);
    if (is_behind_host || is_address_of_host) {
      pieces.pop_back();
    }
    if (!piece.empty() && !is_behind_number && !is_address_of_host) {
      pieces.push_back(std::move(piece));
    }
  }
  empty_places(pieces);
  return pieces;
}

/// Adds the words of a piece: letters, digits and `_`, and `-` inside of them.
void add_words(std::string piece, std::vector<std::string>& words) {
  std::string word;
  piece += ' ';
  for (const char c : piece) {
    if (is_letter_or_digit(c) || c == '_' || (c == '-' && !word.empty())) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
}

/// Words in lower case, singular; none with a digit in it, which differ from run to run, too. All signals are the same
/// word, but not SIGKILL and SIGSTOP: no program can handle these, so they tell something else.
std::vector<std::string> words_of(std::string_view text) {
  constexpr std::string_view kSignal = "SIG";
  constexpr std::size_t kShort = 3;
  std::vector<std::string> words;
  for (const std::string& piece : pieces_of(text)) {
    add_words(piece, words);
  }
  std::erase_if(words, [](const std::string& word) { return word.find_first_of("0123456789") != std::string::npos; });
  for (std::string& word : words) {
    const bool is_usual_signal = word.starts_with(kSignal) && word != "SIGKILL" && word != "SIGSTOP";
    word = is_usual_signal ? "sig" : lower_case(word);
    if (word.size() > kShort && word.ends_with('s')) {
      word.pop_back();
    }
  }
  return words;
}

/// Words and pairs of words, and how much each counts by its place.
std::map<std::string, double> features_of(const std::vector<std::string>& words) {
  constexpr std::size_t kBeginning = 5;
  std::map<std::string, double> features;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const double factor = i < kBeginning ? 2 : 1;
    features.try_emplace(words[i], factor);
    if (i > 0) {
      std::string pair = words[i - 1];
      features.try_emplace(pair.append(" ").append(words[i]), factor);
    }
  }
  return features;
}

/// All rows of all pages in the program, as `read` finds them in one page.
template <typename Read>
auto all_rows(const Read& read) {
  std::invoke_result_t<Read, std::string, std::string> rows;
  for (const auto& [name, content] : known_pages()) {
    std::ranges::move(read(content, name), std::back_inserter(rows));
  }
  return rows;
}

/// The row of a code: its own, that of signals above 128, or that of all others.
template <typename Row>
std::optional<Row> find_code(int code, const std::vector<Row>& rows, const std::string& others) {
  constexpr int kSignals = 128;
  constexpr int kLastSignal = 64;
  const bool is_signal = code > kSignals && code <= kSignals + kLastSignal;
  for (const std::string& wanted : {std::to_string(code), is_signal ? std::string("128 + signal") : others}) {
    const auto row = std::ranges::find(rows, wanted, &Row::code);
    if (row != rows.end()) {
      return *row;
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<MessageRow> read_message_page(std::string_view markdown, const std::string& page) {
  std::vector<MessageRow> rows;
  for (const char* const first_column : {"Message", "You see"}) {
    for (const TableRow& row : read_tables(markdown, first_column)) {
      rows.push_back({quoted_in(row.cells.front()), meaning_of(row), page, row.section});
    }
  }
  return rows;
}

std::vector<ExitCodeRow> read_exit_codes(std::string_view markdown) {
  std::vector<ExitCodeRow> rows;
  for (const TableRow& row : read_tables(markdown, "Code")) {
    rows.push_back({plain(row.cells.front()), plain(row.cells.at(1)), plain(row.cells.back())});
  }
  return rows;
}

std::vector<ExitCodeHelp> read_exit_code_help(std::string_view markdown, const std::string& page) {
  std::vector<ExitCodeHelp> rows;
  for (const TableRow& row : read_tables(markdown, "Exit code")) {
    if (row.cells.size() == 4) {
      const auto& cells = row.cells;
      rows.push_back({plain(cells[0]), plain(cells[1]), plain(cells[2]), plain(cells[3]), page, row.section});
    }
  }
  return rows;
}

std::vector<MessageRow> known_messages() {
  return all_rows(read_message_page);
}

std::vector<ExitCodeRow> known_exit_codes() {
  return all_rows([](const std::string& content, const std::string& /*name*/) { return read_exit_codes(content); });
}

std::vector<ExitCodeHelp> known_exit_code_help() {
  return all_rows(read_exit_code_help);
}

std::optional<ExitCodeRow> find_exit_code(int code, const std::vector<ExitCodeRow>& rows) {
  return find_code(code, rows, "the worker's own");
}

std::optional<ExitCodeHelp> find_exit_code(int code, const std::vector<ExitCodeHelp>& rows) {
  return find_code(code, rows, "another number");
}

std::vector<MessageRow> find_word(std::string_view text, const std::vector<MessageRow>& rows) {
  constexpr std::size_t kFew = 3;
  std::vector<MessageRow> found;
  std::vector<std::string> words = split(lower_case(std::string(text)), ' ');
  for (std::string& word : words) {
    word.resize(word.find_last_not_of(":;.,") + 1);
  }
  for (const MessageRow& row : rows) {
    const auto message = std::ranges::find_if(row.messages, [&](const std::string& one) {
      const bool is_rare = words.size() <= kFew || lower_case(one) != one;
      return is_rare && one.find(' ') == std::string::npos && contains(words, lower_case(one));
    });
    if (message != row.messages.end()) {
      found.push_back(row);
      found.back().messages = {*message};
    }
  }
  return found;
}

MessageIndex::MessageIndex(std::vector<MessageRow> rows) : rows_(std::move(rows)) {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (const std::string& message : rows_[row].messages) {
      add(row, message);
    }
  }
  for (const auto& [feature, having] : messages_with_) {
    for (const FeatureUse& one : having) {
      messages_[one.message].weight += one.factor * weight_of(feature);
    }
  }
}

void MessageIndex::add(std::size_t row, const std::string& message) {
  const std::vector<std::string> words = words_of(message);
  if (words.size() < kLeastWords) {
    return;
  }
  for (const auto& [feature, factor] : features_of(words)) {
    messages_with_[feature].push_back({messages_.size(), factor});
  }
  messages_.push_back({row, message, words, 0});
}

/// The weight of a word or pair of words: the fewer messages have it, the more it counts.
double MessageIndex::weight_of(const std::string& feature) const {
  const auto having = messages_with_.find(feature);
  const std::size_t count = having == messages_with_.end() ? 1 : having->second.size();
  return std::log(1.0 + static_cast<double>(messages_.size()) / static_cast<double>(count));
}

/// The likeness of each message to the text: which part of the text it has, and which part of it the text has. More if
/// the text has all of it; less if they begin differently.
std::vector<double> MessageIndex::likeness_to(std::string_view text) const {
  constexpr double kOfText = 0.6;
  constexpr double kAll = 0.97;
  constexpr double kForAll = 0.25;
  constexpr double kOtherBeginning = 0.75;
  const std::vector<std::string> words = words_of(text);
  std::vector<double> of_text(messages_.size());
  std::vector<double> of_message(messages_.size());
  double whole = 0;
  for (const auto& [feature, factor] : features_of(words)) {
    const double weight = weight_of(feature);
    whole += factor * weight;
    for (const FeatureUse& one : value_at(messages_with_, feature)) {
      of_text[one.message] += factor * weight;
      of_message[one.message] += one.factor * weight;
    }
  }
  for (std::size_t i = 0; i < messages_.size() && whole > 0; ++i) {
    const double part = of_message[i] / messages_[i].weight;
    const double likeness = kOfText * of_text[i] / whole + (1 - kOfText) * part + (part > kAll ? kForAll : 0);
    of_text[i] = likeness * (messages_[i].words.front() == words.front() ? 1 : kOtherBeginning);
  }
  return of_text;
}

std::vector<MessageRow> MessageIndex::find(std::string_view text) const {
  constexpr double kLeast = 0.4;
  constexpr double kNearlyAsGood = 0.85;
  constexpr std::size_t kMost = 3;
  const std::vector<std::string> words = words_of(text);
  if (words.size() < kLeastWords) {
    return {};
  }
  const bool has_same = std::ranges::find(messages_, words, &Message::words) != messages_.end();
  const std::vector<double> likeness = likeness_to(text);
  std::vector<std::size_t> order(messages_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t message) { return likeness[message]; });
  std::vector<MessageRow> found;
  std::set<std::size_t> taken;
  for (const std::size_t message : order) {
    if (found.size() == kMost || likeness[message] < std::max(kLeast, kNearlyAsGood * likeness[order.front()])) {
      break;
    }
    const bool is_wanted = !has_same || messages_[message].words == words;
    if (is_wanted && taken.insert(messages_[message].row).second) {
      found.push_back(rows_[messages_[message].row]);
      found.back().messages = {messages_[message].text};
    }
  }
  return found;
}

}  // namespace muster
