#pragma once

// How the front of a job speaks to the agents that it has started: frames on their standard input.

#include "base/result.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// One thing that is said: what it is, a word, and any bytes.
struct Frame {
  std::string kind;
  std::string bytes{};

  bool operator==(const Frame&) const = default;
};

/// "signal 7\nSIGUSR1".
[[nodiscard]] std::string write_frame(const Frame& frame);

/// Takes bytes as they come, and gives frames.
class FrameReader {
 public:
  /// A frame is no longer than this: the longest argument that the system passes is far shorter.
  static constexpr std::size_t kLongest = std::size_t{16} << 20U;

  void feed(std::string_view bytes) { bytes_ += bytes; }
  /// The next frame, empty while it is not whole. Fails with `BadData` for what is none.
  [[nodiscard]] Result<std::optional<Frame>> next();
  /// So many bytes may be read without touching what follows the frame that is being read.
  [[nodiscard]] std::size_t wanted() const;

 private:
  struct Header {
    std::string kind;
    std::size_t size = 0;
    std::size_t length = 0;  ///< of the header itself
  };
  [[nodiscard]] Result<std::optional<Header>> read_header() const;

  std::string bytes_;
};

// What a front says while the job runs. What it says before is in order.hpp.

inline constexpr const char* kSignalFrame = "signal";  ///< as if it had come to the agent
/// The front ends the job, and will say why: end the workers, and say nothing about it.
inline constexpr const char* kEndFrame = "end";
inline constexpr const char* kAliveFrame = "alive";  ///< said from time to time
inline constexpr std::chrono::seconds kAliveInterval{5};
/// An agent that has heard nothing for so long takes the front for gone.
inline constexpr std::chrono::seconds kSilenceLimit{20};

// How an agent speaks to the front that has started it: words between the lines of its standard output.

/// The kinds of words.
inline constexpr const char* kHello = "here";         ///< the agent runs; with its version
inline constexpr const char* kReportWord = "report";  ///< node 0: the report, as JSON in one line
inline constexpr const char* kExit = "bye";           ///< the end of the job; with the exit code

/// The line that says a word. Nobody else's line begins so: the front has drawn the nonce.
[[nodiscard]] std::string write_word(const std::string& nonce, const std::string& kind, const std::string& text);

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
