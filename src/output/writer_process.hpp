#pragma once

// Runs a process that writes files, so that a hanging file system blocks only that process, and the ring buffer and
// messages that it is fed with.

#include "base/file_io.hpp"
#include "base/result.hpp"
#include "output/byte_sink.hpp"
#include "output/lossy_file.hpp"
#include "process/helper_process.hpp"
#include "process/timer.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

namespace muster {

/// A ring buffer in memory shared with a forked process. One process puts bytes in, the other takes them out, and
/// neither makes a system call for it.
class SharedRingBuffer {
 public:
  static constexpr std::size_t kBytes = std::size_t{1} << 20U;

  [[nodiscard]] static Result<SharedRingBuffer> make();

  /// Puts in as many bytes as there is room for, and returns their number.
  std::size_t put(std::string_view bytes);
  /// The next bytes, in one piece. Empty: there are none.
  std::string_view next() const;
  /// Removes the first `count` of these bytes.
  void take(std::size_t count);

  /// Total bytes that were removed.
  std::uint64_t taken() const { return shared_->taken.load(); }
  /// Bytes in the buffer.
  std::size_t size() const { return static_cast<std::size_t>(shared_->put.load() - shared_->taken.load()); }
  /// Line ends in the buffer.
  std::uint64_t lines() const;

  /// Set while the consumer sleeps and needs to be woken.
  std::atomic<bool>& reader_sleeps() { return shared_->reader_sleeps; }
  /// Set while the producer waits for room, or for the end, and needs a progress message.
  std::atomic<bool>& writer_waits() { return shared_->writer_waits; }

 private:
  /// The counters and flags in shared memory, each written by one side only. The counters only grow.
  struct Shared {
    std::atomic<std::uint64_t> put{0};
    std::atomic<std::uint64_t> taken{0};
    std::atomic<bool> reader_sleeps{false};
    std::atomic<bool> writer_waits{false};
    char bytes[kBytes];
  };

  explicit SharedRingBuffer(Shared* shared) : shared_(shared, Unmap{sizeof(Shared)}) {}

  std::unique_ptr<Shared, Unmap> shared_;
};

/// A message from the writer process to the agent, in one write(2).
struct WriterStatus {
  enum class Kind : std::uint32_t {
    Progress,  ///< bytes were taken, and a message was requested
    Opened,    ///< a log file is created, or cannot be
    Lacks      ///< bytes could not be written, or the file can be written again
  };
  Kind kind = Kind::Progress;
  std::uint32_t file = 0;
  int error_number = 0;
  FileLoss loss{};
};

/// Header of a command about a log file. `size` bytes follow it: a path to open, or bytes to write.
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

/// A file as a device that never makes the agent wait. Bytes go through the ring; the writer process is woken when it
/// sleeps, and reports progress on request. Both sides sleep when there is nothing to write.
class WriterProcess final : public ByteSink {
 public:
  /// The process writes all bytes to `file`. Empty: it executes commands about log files; `has_run_workers`: one of them
  /// may have put a link where the user had a folder.
  [[nodiscard]] static Result<std::unique_ptr<WriterProcess>> start(boost::asio::io_context& io,
                                                                    HelperProcesses& helpers, std::optional<int> file,
                                                                    bool has_run_workers = false);
  WriterProcess(const WriterProcess&) = delete;
  WriterProcess& operator=(const WriterProcess&) = delete;
  /// Gives the process a moment to write the rest of the ring.
  ~WriterProcess() override;

  /// Called with each message that is more than progress.
  std::function<void(const WriterStatus&)> on_status;

  ssize_t write_some(std::string_view bytes) override;
  void when_ready(SinkOwner& owner) override;
  void report_losses_to(SinkOwner& owner) override { losses_to_ = &owner; }
  void catch_up() override { (void)take_statuses(); }
  bool has_written_all() const override { return ring_.size() == 0; }
  std::uint64_t progress() const override { return ring_.taken(); }
  int failure() const override { return failure_; }
  bool is_file() const override { return true; }
  void stop_waiting() override { waiting_ = nullptr; }
  std::uint64_t give_up() override;

 private:
  WriterProcess(boost::asio::io_context& io, HelperProcesses& helpers, SharedRingBuffer ring, UniqueFd wakeup,
                UniqueFd status)
      : io_(io),
        helpers_(helpers),
        ring_(std::move(ring)),
        wakeup_pipe_(std::move(wakeup)),
        status_pipe_(io, status.release()) {}

  void listen();
  bool take_statuses();
  void take(const WriterStatus& status);
  void notify_waiting();
  void end_process(std::chrono::milliseconds timeout);

  boost::asio::io_context& io_;
  HelperProcesses& helpers_;
  SharedRingBuffer ring_;
  UniqueFd wakeup_pipe_;
  boost::asio::posix::stream_descriptor status_pipe_;
  pid_t pid_ = -1;
  SinkOwner* waiting_ = nullptr;    ///< for `on_ready`
  SinkOwner* losses_to_ = nullptr;  ///< where `on_status` is empty
  int failure_ = 0;
  CallbackScope scope_;
};

}  // namespace muster
