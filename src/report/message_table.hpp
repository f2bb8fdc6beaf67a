#pragma once

// The table of muster's messages, of symptoms and of exit codes: the rows of docs/messages*.md, docs/job-failures.md
// and docs/interfaces.md, which are in the program so that `muster explain` answers without them. Pure.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// A row of one of the pages.
struct MessageRow {
  std::vector<std::string> messages;  ///< examples of the text, with numbers and names of their own
  std::string meaning;                ///< cause, and what to do, as plain text; never empty in the program's pages
  std::string page;                   ///< "messages-nodes.md"
  std::string section;                ///< its heading
};

/// A row of the table of exit codes.
struct ExitCodeRow {
  std::string code;     ///< "69", "the worker's own" or "128 + signal"
  std::string meaning;  ///< plain text
  std::string advice;   ///< what a scheduler should do
};

/// A row of the table of exit codes for people.
struct ExitCodeHelp {
  std::string code;     ///< "69", "another number" or "128 + signal"
  std::string meaning;  ///< plain text, as the others
  std::string look;     ///< where to look for the cause
  std::string remedy;   ///< what to do
  std::string page;     ///< "job-failures.md"
  std::string section;
};

/// Reads the rows of a page's tables whose first column is "Message" or "You see". To a row with few words, adds the
/// text that stands above its table.
std::vector<MessageRow> read_message_page(std::string_view markdown, const std::string& page);

/// Reads the rows of the table of a page whose first column is called "Code".
std::vector<ExitCodeRow> read_exit_codes(std::string_view markdown);

/// Reads the rows of the table of a page whose first column is called "Exit code" and that has four of them.
std::vector<ExitCodeHelp> read_exit_code_help(std::string_view markdown, const std::string& page);

/// The rows of the pages that the program was built with.
std::vector<MessageRow> known_messages();
std::vector<ExitCodeRow> known_exit_codes();
std::vector<ExitCodeHelp> known_exit_code_help();

/// The row for an exit code: its own, that for signals (128 + signal), or that for workers. Empty: `rows` have none.
std::optional<ExitCodeRow> find_exit_code(int code, const std::vector<ExitCodeRow>& rows);
std::optional<ExitCodeHelp> find_exit_code(int code, const std::vector<ExitCodeHelp>& rows);

/// The rows with a message of one word, such as `OOMKilled`, that stands in the text. A word in small letters, such
/// as `lost`, counts only in a text of at most three words, because other programs write it, too.
std::vector<MessageRow> find_word(std::string_view text, const std::vector<MessageRow>& rows);

/// Finds messages by their words and pairs of words. Rare words, and those at the beginning, count more; so does a
/// message whose words are all in the text.
class MessageIndex {
 public:
  explicit MessageIndex(std::vector<MessageRow> rows);

  /// The rows of which `text` is most likely a message, at most three, the likeliest first; each row has only its
  /// most similar message. Names and numbers need not be those of the table, and a part of a message is enough. If
  /// some messages have exactly the words of `text`, only these. Empty: none is similar.
  std::vector<MessageRow> find(std::string_view text) const;

 private:
  struct Message {
    std::size_t row = 0;
    std::string text;
    std::vector<std::string> words;
    double weight = 0;  ///< of all its words and pairs of words
  };
  /// A message with a certain word or pair of words, and how much that counts in it.
  struct FeatureUse {
    std::size_t message = 0;
    double factor = 1;
  };

  void add(std::size_t row, const std::string& message);
  double weight_of(const std::string& feature) const;
  std::vector<double> likeness_to(std::string_view text) const;

  std::vector<MessageRow> rows_;
  std::vector<Message> messages_;
  std::map<std::string, std::vector<FeatureUse>>
      messages_with_;  ///< by word or pair of words: the messages that have it
};

/// The pages, compressed, and their size without that: made by report/embed_pages.cpp.
struct PackedPages {
  std::string_view bytes;
  std::size_t size = 0;
};
PackedPages packed_message_pages();

}  // namespace muster
