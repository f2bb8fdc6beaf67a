#pragma once

// Finds the moment at which a process wrote the error that ended it. A process that fails because of another one learns
// of that only after the other one has written its error, so the order of these moments tells which one was first. Pure.

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace muster {

/// The place of a text in the order of all texts that this node has read from its processes. Streams are read in the
/// order in which they became readable, so of two reads it is known which began first. A text within a read may have
/// been written at any time until the next turn of the event loop.
struct ReadMoment {
  std::uint64_t turn = 0;    ///< of the event loop
  std::uint64_t number = 0;  ///< of the read
  bool is_exact = true;      ///< the text begins a read whose place in the order is known

  bool operator==(const ReadMoment&) const = default;
};

/// True if `one` was certainly before `other`; false also if the order is not known.
bool was_before(const ReadMoment& one, const ReadMoment& other);

/// Position at which a read begins in its stream, and its moment.
struct ReadMark {
  std::uint64_t offset = 0;
  ReadMoment moment;
  std::chrono::steady_clock::time_point at;
};

/// The end of a stream, with the marks of its reads, oldest first.
struct MarkedText {
  std::string_view text;
  std::uint64_t offset = 0;  ///< of the text in the stream
  std::span<const ReadMark> marks;
};

/// The beginning of the last error in the text, such as the first line of a traceback, by the patterns `trace` of
/// failure_patterns.txt. The exceptions of one traceback are one error. Looks only at what was read since `since`: an
/// older error was survived.
std::optional<ReadMoment> find_error(const MarkedText& text, std::chrono::steady_clock::time_point since);

}  // namespace muster
