// Reads the rows of the pages of messages, and finds the row of a message.
#include "report/message_table.hpp"

#include "base/encoding.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace muster {
namespace {

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

/// Markdown as plain text: a link becomes its text, quotes and emphasis go.
std::string plain(std::string_view markdown) {
  std::string text;
  for (std::size_t i = 0; i < markdown.size(); ++i) {
    const char c = markdown[i];
    const bool ends_link = c == ']' && i + 1 < markdown.size() && markdown[i + 1] == '(';
    const std::size_t end = ends_link ? markdown.find(')', i) : std::string_view::npos;
    if (end != std::string_view::npos) {
      i = end;
    } else if (c != '`' && c != '[' && c != '*') {
      text += c;
    }
  }
  return text;
}

struct TableRow {
  std::vector<std::string> cells;  ///< at least two
  std::string section;
};

/// The rows of all tables of a page whose first column has that name.
std::vector<TableRow> read_tables(std::string_view markdown, std::string_view first_column) {
  std::vector<TableRow> rows;
  std::string section;
  bool is_wanted = false;
  bool is_heading = true;  // of a table
  for (std::size_t at = 0; at < markdown.size();) {
    const std::size_t end = std::min(markdown.find('\n', at), markdown.size());
    const std::string_view line = markdown.substr(at, end - at);
    at = end + 1;
    if (line.starts_with('#')) {
      section = trim(line.substr(line.find_first_not_of('#')));
    }
    if (!line.starts_with('|')) {
      is_heading = true;
      continue;
    }
    std::vector<std::string> cells = cells_of(line);
    if (std::exchange(is_heading, false)) {
      is_wanted = !cells.empty() && cells.front() == first_column;
    } else if (is_wanted && cells.size() > 1 && !cells.front().starts_with("---")) {
      rows.push_back({std::move(cells), section});
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

// The likeness of two messages: by their words and pairs of words, of which rare ones count more.

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

/// Words in lower case, but none with a digit in it, which differ from run to run, too.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : lower_case(without_quoted(text))) {
    if (is_letter_or_digit(c) || c == '_') {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  std::erase_if(words, [](const std::string& word) {
    return word.empty() || word.find_first_of("0123456789") != std::string::npos;
  });
  return words;
}

std::set<std::string> features_of(std::string_view text) {
  const std::vector<std::string> words = words_of(text);
  std::set<std::string> features(words.begin(), words.end());
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::string pair = words[i - 1];
    features.insert(pair.append(" ").append(words[i]));
  }
  return features;
}

}  // namespace

std::vector<MessageRow> read_message_page(std::string_view markdown, const std::string& page) {
  std::vector<MessageRow> rows;
  std::string above;  // what "As above" refers to
  for (const TableRow& row : read_tables(markdown, "Message")) {
    const std::string meaning = plain(row.cells.back());
    std::string whole = above;
    if (meaning.starts_with("As above")) {
      whole.append(" ").append(meaning);
    } else {
      whole = above = meaning;
    }
    rows.push_back({quoted_in(row.cells.front()), whole, page, row.section});
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

std::vector<MessageRow> known_messages() {
  std::vector<MessageRow> rows;
  for (const auto& [name, content] : known_pages()) {
    const auto more = read_message_page(content, name);
    rows.insert(rows.end(), more.begin(), more.end());
  }
  return rows;
}

std::vector<ExitCodeRow> known_exit_codes() {
  for (const auto& [name, content] : known_pages()) {
    if (auto rows = read_exit_codes(content); !rows.empty()) {
      return rows;
    }
  }
  return {};
}

std::optional<ExitCodeRow> find_exit_code(int code, const std::vector<ExitCodeRow>& rows) {
  constexpr int kSignals = 128;
  constexpr int kLastSignal = 64;
  const bool is_signal = code > kSignals && code <= kSignals + kLastSignal;
  for (const std::string& wanted :
       {std::to_string(code), std::string(is_signal ? "128 + signal" : "the worker's own")}) {
    const auto row = std::ranges::find(rows, wanted, &ExitCodeRow::code);
    if (row != rows.end()) {
      return *row;
    }
  }
  return std::nullopt;
}

MessageIndex::MessageIndex(std::vector<MessageRow> rows) : rows_(std::move(rows)) {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    for (const std::string& message : rows_[row].messages) {
      add(row, message);
    }
  }
  for (const auto& [feature, having] : having_) {
    for (const std::size_t message : having) {
      messages_[message].weight += weight_of(feature);
    }
  }
}

void MessageIndex::add(std::size_t row, const std::string& message) {
  for (const std::string& feature : features_of(message)) {
    having_[feature].push_back(messages_.size());
  }
  messages_.push_back({row, message, 0});
}

/// The messages that have a feature.
std::span<const std::size_t> MessageIndex::having(const std::string& feature) const {
  const auto found = having_.find(feature);
  return found == having_.end() ? std::span<const std::size_t>() : std::span<const std::size_t>(found->second);
}

/// The weight of a feature: the fewer messages have it, the more it tells.
double MessageIndex::weight_of(const std::string& feature) const {
  const auto count = static_cast<double>(std::max<std::size_t>(having(feature).size(), 1));
  return std::log(1.0 + static_cast<double>(messages_.size()) / count);
}

/// The likeness of each message to the text, from 0 to 1: how much of the text it has, and a little, how much of it the
/// text has.
std::vector<double> MessageIndex::likeness_to(std::string_view text) const {
  constexpr double kOfText = 0.7;
  std::vector<double> shared(messages_.size());
  double whole = 0;
  for (const std::string& feature : features_of(text)) {
    whole += weight_of(feature);
    for (const std::size_t message : having(feature)) {
      shared[message] += weight_of(feature);
    }
  }
  for (std::size_t i = 0; i < shared.size(); ++i) {
    shared[i] = shared[i] == 0 ? 0 : kOfText * shared[i] / whole + (1 - kOfText) * shared[i] / messages_[i].weight;
  }
  return shared;
}

std::vector<MessageRow> MessageIndex::find(std::string_view text) const {
  constexpr double kLeast = 0.4;
  constexpr double kNearlyAsGood = 0.85;
  constexpr std::size_t kMost = 3;
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
    if (taken.insert(messages_[message].row).second) {
      found.push_back(rows_[messages_[message].row]);
      found.back().messages = {messages_[message].text};
    }
  }
  return found;
}

}  // namespace muster
