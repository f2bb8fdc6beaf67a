// The last lines of a stream, for the report.
#include "base/text.hpp"
#include "output/tail.hpp"

#include <algorithm>

namespace muster {
namespace {

/// Cuts a line that is too long at its beginning, between characters if it is text.
void shorten(std::string& line) {
  if (line.size() <= Tail::kLongestLine) {
    return;
  }
  line.erase(0, line.size() - Tail::kLongestLine);
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; };
  for (int i = 0; i < 3 && !line.empty() && continues(line.front()); ++i) {
    line.erase(0, 1);
  }
  line.insert(0, "...");
}

}  // namespace

void Tail::feed(std::string_view bytes) {
  if (bytes.size() >= kBytes) {
    bytes_.assign(bytes.substr(bytes.size() - kBytes));
    return;
  }
  bytes_.append(bytes);
  if (bytes_.size() > 2 * kBytes) {  // cut rarely: each cut moves what is kept
    bytes_.erase(0, bytes_.size() - kBytes);
  }
}

std::vector<std::string> Tail::lines() const {
  std::string_view text(bytes_);
  while (text.ends_with('\n') || text.ends_with('\r')) {
    text.remove_suffix(1);
  }
  std::vector<std::string> all = split(text, '\n');
  if (all.size() > kLines) {
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(kLines));
  }
  for (std::string& line : all) {
    // What a terminal would show of a progress bar: its last step.
    while (line.ends_with('\r')) {
      line.pop_back();
    }
    line.erase(0, line.rfind('\r') == std::string::npos ? 0 : line.rfind('\r') + 1);
    shorten(line);
    line = valid_utf8(line);
  }
  return all;
}

}  // namespace muster
