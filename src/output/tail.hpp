#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// Remembers the end of a stream, in bounded memory, so that a report can show its last lines.
class Tail {
 public:
  static constexpr std::size_t kBytes = std::size_t{16} << 10U;  ///< remembered at least, if there
  static constexpr std::size_t kLines = 20;
  static constexpr std::size_t kLongestLine = 2'000;  ///< longer lines are cut in `lines()`

  void feed(std::string_view bytes);

  /// The last lines, oldest first, valid UTF-8, without line ends. The first one may lack its
  /// beginning when the lines together are longer than what is remembered.
  [[nodiscard]] std::vector<std::string> lines() const;

 private:
  std::string bytes_;
};

}  // namespace muster
