// Reads the line of the source at which a rank sleeps, with its rights.
#include "agent/hang/builtin_wait.hpp"

#include "base/file_io.hpp"
#include "hang/occupation.hpp"
#include "process/helper_process.hpp"
#include "process/rights.hpp"

#include <chrono>
#include <sstream>
#include <string>
#include <utility>

namespace muster {
namespace {

/// A line of a file of the process; empty: it cannot be read, or not at once.
std::string source_line(pid_t process, const hang::Frame& frame) {
  constexpr std::chrono::milliseconds kTimeout{200};
  constexpr std::size_t kMostBytes = std::size_t{4} << 20U;
  const auto read = [&] {
    const auto text = read_as(process, [&](pid_t) -> Result<std::string> {
      return read_untrusted_file("/proc/" + std::to_string(process) + "/root" + frame.file, kMostBytes);
    });
    std::istringstream lines(text ? *text : "");
    std::string line;
    for (int number = 0; number < frame.line && lines; ++number) {
      std::getline(lines, line);
    }
    return lines && frame.line > 0 ? line : "";
  };
  return frame.file.starts_with('/') ? HelperTask::wait_for({read, kTimeout}).value_or("") : "";  // it may hang
}

}  // namespace

void add_builtin_wait(hang::RankEvidence& rank) {
  hang::Place& place = rank.place;
  const bool may_wait = place.state == 'S' && hang::waits_for_thread_or_socket(place.wait);
  if (may_wait && !place.stack.empty() && !hang::is_library(place.stack.front())) {
    if (auto wait = hang::find_builtin_wait(source_line(rank.pid, place.stack.front()), place.wait)) {
      place.stack.insert(place.stack.begin(), std::move(*wait));
    }
  }
}

}  // namespace muster
