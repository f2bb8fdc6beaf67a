#pragma once

// All log files of a node, for the whole life of muster.

#include "base/file_io.hpp"
#include "base/result.hpp"
#include "output/output_queue.hpp"
#include "process/helper_process.hpp"

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

/// What is known here of a file that a process beside us writes.
struct LogFile {
  std::uint32_t number = 0;
  std::string path;
  std::optional<Result<>> opened;  ///< empty: nothing is known yet
  std::uint64_t missing_bytes = 0;
};

/// A full disk does not end the job: it is said once for a file, writing is tried again with each piece,
/// and the bytes that are missing are counted. The same when their file system takes nothing for too long.
class LogFiles {
 public:
  LogFiles(boost::asio::io_context& io, HelperProcesses& helpers, std::chrono::milliseconds stall);
  ~LogFiles();
  LogFiles(const LogFiles&) = delete;
  LogFiles& operator=(const LogFiles&) = delete;

  /// Called when a file could not be written for the first time, or lines were dropped.
  std::function<void(const std::string&)> on_remark;
  /// Called when bytes are taken again, or never will be.
  std::function<void()> on_writable;

  /// Orders a file. Whether it can be had is known later.
  [[nodiscard]] std::shared_ptr<LogFile> open(const std::string& path);
  void write(LogFile& file, std::string_view bytes);
  void close(const LogFile& file);

  /// True when it is known of every file whether it can be had, or when their file system has taken nothing for longer than the
  /// stall; else `next` is called once one of both is so. The latter is said.
  [[nodiscard]] bool are_open(const std::function<void()>& next);

  /// It has taken longer, and their file system still does not answer.
  [[nodiscard]] bool are_late() const { return is_late_; }

  /// It is not called any more.
  void stop_waiting();

  [[nodiscard]] bool are_congested() const { return sink_ && sink_->is_congested(); }
  /// True when everything is in the files; else `next` is called once that is so.
  [[nodiscard]] bool are_settled(const std::function<void()>& next);
  /// What they are written through; empty: there is no file.
  [[nodiscard]] OutputQueue* sink() { return sink_.get(); }

  /// Their file system is not waited for any longer.
  void give_up();
  /// One sentence for all files that are not there, and one for each that lacks bytes. To be called at the end.
  [[nodiscard]] std::vector<std::string> describe_missing();

 private:
  /// Bytes on their way: where in the stream of orders they end.
  struct InFlight {
    std::shared_ptr<LogFile> file;
    std::uint64_t size = 0;
    std::uint64_t end = 0;
  };

  [[nodiscard]] Result<> start();
  void forget_writer();
  void take_news(const WriterStatus& news);
  void note_opened(LogFile& file, int error_number);
  void note_missing(LogFile& file, const WriterStatus& news);
  void forget_arrived();
  void go_on();
  void go_on_without();

  boost::asio::io_context& io_;
  HelperProcesses& helpers_;
  std::chrono::milliseconds stall_;
  boost::asio::steady_timer open_timer_;
  std::function<void()> when_open_;
  std::unique_ptr<OutputQueue> sink_;
  std::vector<std::shared_ptr<LogFile>> files_;  ///< by their number
  std::size_t unknown_ = 0;                      ///< files of which it is not known whether they can be had
  bool is_late_ = false;                         ///< that has taken too long, and has been said
  std::deque<InFlight> on_the_way_;
};

// One log file: of one stream of one worker, or of several streams.

/// Holds exactly what is written to it. A full disk is no reason to give it up: writing is tried again with
/// each piece. Its file system may hang, and whoever calls with it.
class OpenLogFile {
 public:
  /// Creates the file and the folders above it. A file that is there already is kept under the name
  /// "<path>.1", and an older ".1" under ".2", and so on. Returns 0, or why not, as errno.
  [[nodiscard]] int create(const std::string& path);

  [[nodiscard]] WriteResult write(std::string_view bytes) const { return write_all(file_.get(), bytes); }

 private:
  UniqueFd file_;
};

}  // namespace muster
