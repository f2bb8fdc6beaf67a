#pragma once

// Defines the messages between the remote launcher and its agents: frames on an agent's standard input, and control
// lines between the lines of its standard output.

#include "base/frame.hpp"
#include "base/result.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// A message to an agent: its kind and any bytes.
struct Frame {
  std::string kind;
  std::string bytes{};

  bool operator==(const Frame&) const = default;
};

/// Size limit of a frame: the longest argument that the kernel passes is far shorter.
inline constexpr std::size_t kMostFrameBytes = std::size_t{16} << 20U;

/// Encodes a frame, whose payload is "signal SIGUSR1".
std::string write_frame(const Frame& frame);

/// Reads the next frame; empty while it is incomplete. Fails with `BadData` for bytes that are no frame.
[[nodiscard]] Result<std::optional<Frame>> next_frame(FrameReader& reader);

// Kinds of frames that the remote launcher sends while the job runs. The frames before these form an `AgentOrder`.

inline constexpr const char* kSignalFrame = "signal";  ///< handled as if the agent had got this signal
/// The launcher ends the job and reports why: the agent ends the workers, and reports nothing.
inline constexpr const char* kEndFrame = "end";
inline constexpr const char* kAliveFrame = "alive";  ///< heartbeat
inline constexpr std::chrono::seconds kAliveInterval{5};
/// Heartbeat timeout: an agent takes the launcher for lost if no frame has arrived for this long.
inline constexpr std::chrono::seconds kSilenceLimit{20};

/// Kinds of control lines, from an agent to the launcher.
inline constexpr const char* kHello = "here";         ///< the agent runs; with its version
inline constexpr const char* kReportLine = "report";  ///< from node 0: the report, as JSON in one line
inline constexpr const char* kExit = "bye";           ///< the end of the job; with the exit code

/// Encodes a control line. No other program can write one: only launcher and agent know the random nonce.
std::string write_control(const std::string& nonce, const std::string& kind, const std::string& text);

/// Size limit of a control line: the report of the largest job is far shorter.
inline constexpr std::size_t kMostControlBytes = std::size_t{64} << 20U;

/// Removes control lines from an agent's output. Other bytes pass unchanged, and so does a control line that is too
/// long.
class ControlLineFilter {
 public:
  explicit ControlLineFilter(std::string nonce);

  std::function<void(const std::string& kind, const std::string& text)> on_control;

  /// Appends to `out` all bytes that are not part of a control line. A possible beginning of one is held back.
  void feed(std::string_view bytes, std::string& out);
  /// At the end of the stream: appends the bytes that were held back.
  void finish(std::string& out);

 private:
  bool may_be_word() const;
  /// Calls `on_control` with the control line, which is whole.
  void deliver_line();

  std::string start_;  ///< the beginning of each control line
  std::string kept_;   ///< a control line, or its possible beginning, so far
};

}  // namespace muster
