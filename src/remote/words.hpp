#pragma once

// How an agent speaks to the front that has started it: words between the lines of its standard output.

#include <functional>
#include <string>
#include <string_view>

namespace muster {

/// The kinds of words.
inline constexpr const char* kHello = "here";         ///< the agent runs; with its version
inline constexpr const char* kReportWord = "report";  ///< node 0: the report, as JSON in one line
inline constexpr const char* kExit = "bye";           ///< the end of the job; with the exit code

/// The line that says a word. Nobody else's line begins so: the front has drawn the nonce.
[[nodiscard]] std::string write_word(const std::string& nonce,
                                     const std::string& kind,
                                     const std::string& text);

/// Takes the words out of what an agent writes; everything else passes as it is.
class ControlLineFilter {
 public:
  explicit ControlLineFilter(std::string nonce);

  std::function<void(const std::string& kind, const std::string& text)> on_word;

  /// Appends to `out` what is no word. What may become one is kept until that is known.
  void feed(std::string_view bytes, std::string& out);
  /// At the end of the stream: what was kept.
  void finish(std::string& out);

 private:
  [[nodiscard]] bool may_be_word() const;
  [[nodiscard]] std::size_t length_to_keep(std::string_view bytes) const;
  void send();

  std::string start_;  ///< what each word begins with
  std::string kept_;   ///< the beginning of a word, or of what looks like one
};

}  // namespace muster
