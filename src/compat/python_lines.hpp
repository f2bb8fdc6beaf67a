#pragma once

// Python's source as words: enough to see what is called where, without comments and strings. Private to
// program/.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

enum class PythonWordKind {
  Name,  ///< keywords too
  Number,
  String,  ///< `text` is what stands between the quotes
  Sign     ///< one character; of "==" there are two
};

struct PythonWord {
  PythonWordKind kind = PythonWordKind::Sign;
  std::string_view text;

  [[nodiscard]] bool is(std::string_view name) const {
    return kind != PythonWordKind::String && text == name;
  }
};

using Words = std::span<const PythonWord>;

/// One logical line: brackets, and a backslash at the end, join lines.
struct PythonLine {
  std::size_t number = 1;  ///< of the first of its lines in the file
  std::size_t indent = 0;  ///< a tab counts up to the next multiple of 8
  std::vector<PythonWord> words;
};

/// The lines that hold any words. The words point into `text`. Any text is taken: what is no Python
/// gives other words, and no error.
[[nodiscard]] std::vector<PythonLine> read_python(std::string_view text);

/// Where the bracket is closed that the word at `from` opens; the number of words if it is not.
[[nodiscard]] std::size_t find_close(Words words, std::size_t from);

/// Cuts at each word that stands in no bracket.
[[nodiscard]] std::vector<Words> cut(Words words, std::string_view at);

/// "torch.multiprocessing".
[[nodiscard]] std::string as_dotted(Words words);

/// For people: with quotes around strings, and the beginning only if it is long.
[[nodiscard]] std::string as_written(Words words);

}  // namespace muster
