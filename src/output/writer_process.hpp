#pragma once

// What the process of a file writer does: it takes bytes out of the ring and writes them. It may hang in
// that, and nobody with it. Private to run/.

#include "output/ring.hpp"

#include "base/unique_fd.hpp"

#include <cstdint>
#include <functional>
#include <string_view>

namespace muster {

/// What a writer tells the agent, in one write each.
struct WriterStatus {
  enum class Kind : std::uint32_t {
    Progress,  ///< it has taken something, and was asked to say so
    Opened,    ///< a log file is there, or cannot be made
    Lacks      ///< bytes could not be written
  };
  Kind kind = Kind::Progress;
  std::uint32_t file = 0;
  int error_number = 0;
  std::uint32_t unused = 0;
  std::uint64_t missing = 0;
};

/// The ends that the process of a writer has.
struct WriterChannel {
  SharedRingBuffer& ring;
  int bell;  ///< readable when there is something to do; at its end when nothing comes any more
  int news;

  void send(const WriterStatus& what) const;
};

/// Hands every byte to `write`, in pieces, until the agent is gone or has said that this was all.
void take_all(const WriterChannel& ends, const std::function<void(std::string_view)>& write);

/// Writes everything to a descriptor.
void write_to_descriptor(const WriterChannel& ends, int fd);

/// What the agent orders about a log file; the first thing in a row of them. Behind it come `size` bytes:
/// a path to open, or what is to be written.
struct LogCommand {
  enum class Kind : std::uint32_t {
    Open,
    Write,
    Close
  };
  Kind kind = Kind::Open;
  std::uint32_t file = 0;
  std::uint64_t size = 0;
};

/// Carries out orders about log files.
void write_log_files(const WriterChannel& ends);

}  // namespace muster
