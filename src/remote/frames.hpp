#pragma once

// How the front of a job speaks to the agents that it has started: frames on their standard input.

#include "base/result.hpp"

#include <chrono>
#include <cstddef>
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

}  // namespace muster
