#pragma once

// Where bytes go in the end. Private to run/.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string_view>

namespace muster {

/// Takes bytes without ever making the caller wait.
class ByteSink {
 public:
  ByteSink() = default;
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;
  virtual ~ByteSink() = default;

  /// How many bytes it took; -1 with errno: none, and EAGAIN for now.
  [[nodiscard]] virtual ssize_t write_some(std::string_view bytes) = 0;
  /// Calls `then` once, when there is something new: it may take bytes again, or has failed, or what
  /// it took has been written.
  virtual void when_ready(std::function<void()> then) = 0;

  /// Takes note of all that is known of what it took.
  virtual void catch_up() {}
  /// True when what it took is where it belongs.
  [[nodiscard]] virtual bool has_written_all() const { return true; }
  /// Bytes that are where they belong: grows as long as its file system answers.
  [[nodiscard]] virtual std::uint64_t progress() const { return 0; }
  /// Why it takes nothing any more, as errno, where that was found out later; 0: it may.
  [[nodiscard]] virtual int failure() const { return 0; }
  /// True for a file, whose file system may hang for as long as it wants.
  [[nodiscard]] virtual bool is_file() const { return false; }

  /// Calls nobody any more. What comes later it takes if it can at once.
  virtual void stop_waiting() = 0;
  /// Takes nothing any more. Returns how many lines it took and has not written.
  virtual std::uint64_t give_up() { return 0; }
};

}  // namespace muster
