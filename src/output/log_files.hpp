#pragma once

// Writes all log files of a node through one writer process, for the life of muster.

#include "base/file_io.hpp"
#include "base/result.hpp"
#include "output/output_queue.hpp"
#include "process/helper_process.hpp"
#include "process/timers.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

struct WriterStatus;

/// The state of a log file that the writer process writes.
struct LogFile {
  std::uint32_t number = 0;
  std::string path;
  std::optional<Result<>> opened;  ///< empty: not known yet
  std::uint64_t missing_bytes = 0;
};

/// All log files of a node. A full disk does not end the job: it is logged once for a file, each write tries again,
/// and missing bytes are counted. A file system that takes nothing during the stall timeout is treated likewise.
class LogFiles : public QueueOwner {
 public:
  /// `owner` gets the events of the queue.
  LogFiles(boost::asio::io_context& io, HelperProcesses& helpers, std::chrono::milliseconds stall, QueueOwner& owner);
  ~LogFiles() override;
  LogFiles(const LogFiles&) = delete;
  LogFiles& operator=(const LogFiles&) = delete;

  /// Requests a file. Its `opened` is set later.
  std::shared_ptr<LogFile> open(const std::string& path);
  void write(LogFile& file, std::string_view bytes);
  void close(const LogFile& file);

  /// True when every file is created or has failed, or when the file system has taken nothing for longer than the
  /// stall timeout, which is reported. False: `next` is called once, when this is true. A job that has run once does
  /// not wait for files of later attempts: it starts again even without its disk.
  bool are_open(const std::function<void()>& next);

  /// True when the stall timeout has passed and the file system still does not respond.
  bool are_late() const { return is_late_; }

  /// Cancels the `next` of `are_open`.
  void stop_waiting();

  bool are_congested() const { return queue_ && queue_->is_congested(); }
  /// The queue to the writer process; null: there is no file.
  OutputQueue* queue() { return queue_.get(); }

  /// Stops waiting for the file system.
  void give_up();
  /// One sentence for all files that could not be created, and one for each that lacks bytes. Call it at the end.
  std::vector<std::string> describe_missing();

 private:
  /// Queued bytes, and where they end in the stream of commands.
  struct InFlight {
    std::shared_ptr<LogFile> file;
    std::uint64_t size = 0;
    std::uint64_t end = 0;
  };

  void on_queue_writable() override;
  void on_queue_drained() override { owner_.on_queue_drained(); }
  [[nodiscard]] Result<> start();
  void take_status(const WriterStatus& status);
  void note_opened(LogFile& file, int error_number);
  void forget_arrived();
  void go_on();
  void stop_waiting_for_files();

  boost::asio::io_context& io_;
  HelperProcesses& helpers_;
  std::chrono::milliseconds stall_;
  QueueOwner& owner_;
  DelayedCall open_timer_;
  std::function<void()> when_open_;
  std::unique_ptr<OutputQueue> queue_;
  std::vector<std::shared_ptr<LogFile>> files_;  ///< by their number
  std::size_t unknown_ = 0;                      ///< files that are neither created nor failed yet
  bool is_late_ = false;                         ///< the wait for files has timed out and was reported
  bool are_needed_ = true;                       ///< the first attempt has not begun: a file that fails ends the job
  std::deque<InFlight> on_the_way_;
};

}  // namespace muster
