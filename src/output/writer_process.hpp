#pragma once

// What the process of a file writer does: it takes bytes out of the ring and writes them. It may hang in
// that, and nobody with it.

#include "base/file_io.hpp"
#include "base/result.hpp"
#include "output/byte_sink.hpp"
#include "process/helper_process.hpp"

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

namespace muster {

// Bytes on their way from one process to another.

/// A ring in memory that a process shares with the copy of it that it makes. One of the two puts bytes
/// in, the other takes them out, and neither makes a system call for it.
class SharedRingBuffer {
 public:
  static constexpr std::size_t kBytes = std::size_t{1} << 20U;

  [[nodiscard]] static Result<SharedRingBuffer> make();
  SharedRingBuffer(SharedRingBuffer&& other) noexcept;
  SharedRingBuffer& operator=(SharedRingBuffer&& other) = delete;
  SharedRingBuffer(const SharedRingBuffer&) = delete;
  SharedRingBuffer& operator=(const SharedRingBuffer&) = delete;
  ~SharedRingBuffer();

  /// Puts in what there is room for, and returns how many bytes that is.
  [[nodiscard]] std::size_t put(std::string_view bytes);
  /// The next bytes, in one piece. Empty: there are none.
  [[nodiscard]] std::string_view next() const;
  /// The first `count` of them have been dealt with.
  void take(std::size_t count);

  /// How many bytes have been dealt with since the beginning.
  [[nodiscard]] std::uint64_t taken() const { return shared_->taken.load(); }
  /// How many bytes are in it.
  [[nodiscard]] std::size_t size() const {
    return static_cast<std::size_t>(shared_->put.load() - shared_->taken.load());
  }
  /// How many line ends are in it.
  [[nodiscard]] std::uint64_t lines() const;

  /// Who takes sleeps, and wants to be woken by who puts.
  std::atomic<bool>& taker_sleeps() { return shared_->taker_sleeps; }
  /// Who puts waits for room, or for the end, and wants to hear of what is taken.
  std::atomic<bool>& putter_waits() { return shared_->putter_waits; }

 private:
  /// Each counter and each flag is set by one side. The counters only grow.
  struct Shared {
    std::atomic<std::uint64_t> put{0};
    std::atomic<std::uint64_t> taken{0};
    std::atomic<bool> taker_sleeps{false};
    std::atomic<bool> putter_waits{false};
    char bytes[kBytes];
  };

  explicit SharedRingBuffer(Shared* shared) : shared_(shared) {}

  Shared* shared_;
};

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

// A file, as a device that never makes the agent wait: a process of its own writes it.

/// The agent's side. Bytes go through a ring; the process is woken when it sleeps, and tells of what it has
/// taken when it is asked. With nothing to write neither of the two wakes up.
class WriterProcess final : public ByteSink {
 public:
  /// `work` runs in the process, with `kept` as its only other descriptor if there is one.
  [[nodiscard]] static Result<std::unique_ptr<WriterProcess>> start(
      boost::asio::io_context& io, HelperProcesses& helpers, std::optional<int> kept,
      const std::function<void(const WriterChannel&)>& work);
  WriterProcess(const WriterProcess&) = delete;
  WriterProcess& operator=(const WriterProcess&) = delete;
  /// What is in the ring is written, if that takes no longer than a moment.
  ~WriterProcess() override;

  /// Called with everything that is more than progress.
  std::function<void(const WriterStatus&)> on_news;

  [[nodiscard]] ssize_t write_some(std::string_view bytes) override;
  void when_ready(std::function<void()> then) override;
  void catch_up() override { (void)take_all_news(); }
  [[nodiscard]] bool has_written_all() const override { return ring_.size() == 0; }
  [[nodiscard]] std::uint64_t progress() const override { return ring_.taken(); }
  [[nodiscard]] int failure() const override { return failure_; }
  [[nodiscard]] bool is_file() const override { return true; }
  void stop_waiting() override { waiting_ = {}; }
  std::uint64_t give_up() override;

 private:
  struct Parts {
    SharedRingBuffer ring;
    UniqueFd bell;
    UniqueFd news;
    pid_t pid;
  };
  WriterProcess(boost::asio::io_context& io, HelperProcesses& helpers, Parts parts);

  void listen();
  void read_news();
  bool take_all_news();
  void take(const WriterStatus& news);
  void call_soon();
  void call_who_waits();
  void end_process(std::chrono::milliseconds patience);

  boost::asio::io_context& io_;
  HelperProcesses& helpers_;
  SharedRingBuffer ring_;
  UniqueFd signal_notifier_;
  boost::asio::posix::stream_descriptor news_;
  pid_t pid_;
  std::function<void()> waiting_;
  int failure_ = 0;
  std::shared_ptr<bool> lives_ = std::make_shared<bool>(true);  ///< for what was posted
};

}  // namespace muster
