#pragma once

// How what a worker writes comes to us. Decided before anything is made. Private to run/.

#include "agent/run.hpp"

#include <optional>

namespace muster {

/// Which files one stream of a worker goes to.
enum class StreamFile {
  None,
  Joined,  ///< one that takes both streams of the worker
  Own      ///< one that takes only this stream, or only lines of it
};

/// Where one stream of a worker goes.
struct StreamTarget {
  std::optional<int>
      console{};             ///< our descriptor; the same for both streams where both are one file
  bool is_terminal = false;  ///< the console is one
  StreamFile file = StreamFile::None;
  bool operator==(const StreamTarget&) const = default;
};

/// What is made for the streams of one worker: a pipe or a pseudo-terminal each.
struct OutputConnection {
  /// Both come through one, that of standard error: in the order in which they were written.
  bool is_joined = false;
  bool out_is_terminal = false;
  bool error_is_terminal = false;
  bool operator==(const OutputConnection&) const = default;
};

/// Joined where nobody needs to know which of the two a line was written to: both are shown at one place, or only
/// written to one file. A terminal, unless `terminals` decides, where the stream is shown on one and kept in no file.
[[nodiscard]] OutputConnection choose_output_way(const StreamTarget& out,
                                                 const StreamTarget& error,
                                                 When terminals);

}  // namespace muster
