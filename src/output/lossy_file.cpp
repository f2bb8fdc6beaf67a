// Keeps the lines of a file whole while its disk is full, and counts what it lacks. Pure.
#include "output/lossy_file.hpp"

#include <algorithm>

namespace muster {

void LossyFile::write(std::string_view bytes) {
  const bool was_failing = loss_.error_number != 0;
  loss_.bytes = 0;
  loss_.lines = 0;
  if (lacks_start_) {  // a progress bar may have no line end for hours: its next step counts as a line
    const std::size_t start = std::min(bytes.find_first_of("\r\n"), bytes.size() - 1) + 1;
    lose(bytes.substr(0, start));
    bytes.remove_prefix(start);
  }
  if (!bytes.empty()) {
    const WriteResult ended = was_failing ? end_torn_line() : WriteResult();
    const WriteResult written = ended.missing > 0 ? WriteResult{bytes.size(), ended.error_number} : write_(bytes);
    const std::size_t taken = bytes.size() - written.missing;
    is_within_line_ = taken > 0 ? bytes[taken - 1] != '\n' : is_within_line_;
    loss_.error_number = written.error_number;
    lose(bytes.substr(taken));
  }
  if (was_failing || loss_.error_number != 0) {
    report_(loss_);
  }
}

WriteResult LossyFile::end_torn_line() {
  const WriteResult ended = is_within_line_ ? write_("\n") : WriteResult();
  is_within_line_ = is_within_line_ && ended.missing > 0;
  return ended;
}

void LossyFile::lose(std::string_view bytes) {
  if (!bytes.empty()) {
    loss_.bytes += bytes.size();
    loss_.lines += static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
    lacks_start_ = bytes.back() != '\n' && bytes.back() != '\r';
  }
}

}  // namespace muster
