#pragma once

// The table of muster's messages and of its exit codes: the rows of docs/messages*.md and of the exit codes in
// docs/interfaces.md, which are in the program so that `muster explain` answers without them. Pure.

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// A row of one of the pages.
struct MessageRow {
  std::vector<std::string> messages;  ///< examples of the text, with numbers and names of their own
  std::string meaning;                ///< cause, and what to do, as plain text
  std::string page;                   ///< "messages-nodes.md"
  std::string section;                ///< its heading
};

/// A row of the table of exit codes.
struct ExitCodeRow {
  std::string code;     ///< "69", "the worker's own" or "128 + signal"
  std::string meaning;  ///< plain text
  std::string advice;   ///< what a scheduler should do
};

/// Reads the rows of the tables of a page whose first column is called "Message".
[[nodiscard]] std::vector<MessageRow> read_message_page(std::string_view markdown, const std::string& page);

/// Reads the rows of the table of a page whose first column is called "Code".
[[nodiscard]] std::vector<ExitCodeRow> read_exit_codes(std::string_view markdown);

/// The rows of the pages that the program was built with.
[[nodiscard]] std::vector<MessageRow> known_messages();
[[nodiscard]] std::vector<ExitCodeRow> known_exit_codes();

/// The row of an exit code: its own, that of signals above 128, or that of workers. Empty: `rows` have none.
[[nodiscard]] std::optional<ExitCodeRow> find_exit_code(int code, const std::vector<ExitCodeRow>& rows);

/// Finds messages by their words and pairs of words, of which rare ones count more.
class MessageIndex {
 public:
  explicit MessageIndex(std::vector<MessageRow> rows);

  /// The rows of which `text` is most likely a message, the likeliest first; at most three, each with the likest of its
  /// messages alone. Names and numbers need not be those of the table, and a part of a message is enough. Empty: none is
  /// like it.
  [[nodiscard]] std::vector<MessageRow> find(std::string_view text) const;

 private:
  struct Message {
    std::size_t row = 0;
    std::string text;
    double weight = 0;  ///< of all its features
  };

  void add(std::size_t row, const std::string& message);
  [[nodiscard]] std::span<const std::size_t> having(const std::string& feature) const;
  [[nodiscard]] double weight_of(const std::string& feature) const;
  [[nodiscard]] std::vector<double> likeness_to(std::string_view text) const;

  std::vector<MessageRow> rows_;
  std::vector<Message> messages_;
  std::map<std::string, std::vector<std::size_t>> having_;  ///< by each feature the messages that have it
};

/// The pages, compressed, and their size without that: made by report/embed_pages.cpp.
struct PackedPages {
  std::string_view bytes;
  std::size_t size = 0;
};
[[nodiscard]] PackedPages packed_message_pages();

}  // namespace muster
