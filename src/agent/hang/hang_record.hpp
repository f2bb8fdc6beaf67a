#pragma once

// Keeps what was seen of a hang: in a file of the log folder, and for the report (docs/hangs.md). Private to src/agent.

#include "agent/attempt_file.hpp"
#include "base/json.hpp"
#include "hang/stall_detector.hpp"

#include <string>

namespace muster {

class HangRecord {
 public:
  /// `logs` outlives it.
  explicit HangRecord(LogFiles& logs) : file_(logs) {}

  /// An attempt begins. An empty path: the job writes no files.
  void begin(const std::string& path);
  /// Appends an answer of `muster stacks` to the file, with the time and why it was asked for.
  void keep(const std::string& why, const json::object& answer);
  /// Keeps a look for the report. If the look `is_new`, appends `answer`, which has its verdict, to the file.
  void keep(const hang::StallDetector::Look& look, const json::object& answer, bool is_new);
  /// The job moves: earlier looks do not matter any more.
  void forget() { last_.clear(); }

  /// The object "hang" of the report; empty: the job was not seen to stand still.
  const std::string& last() const { return last_; }

 private:
  AttemptFile file_;
  std::string last_;
};

/// The object "hang" of the report, of limited size. Pure.
json::object hang_document(const hang::StallDetector::Look& look, const json::object& answer);

}  // namespace muster
