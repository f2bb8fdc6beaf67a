#pragma once

// Waits for files that other programs write, until all of them are there. Private to src/agent.

#include "base/file_io.hpp"
#include "inputs/input_files.hpp"
#include "process/timer.hpp"
#include "supervise/job_end.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Polls at the start, after each inotify event in the directory of an input, and every few seconds, since inotify
/// does not report changes by other hosts on a network file system. Goes on until the workers start, even if all
/// inputs are there, because a file may be removed again. Does not poll while workers run.
class InputWatcher {
 public:
  InputWatcher(boost::asio::io_context& io, const std::vector<Input>& inputs, std::chrono::milliseconds timeout);

  /// The missing input has changed, such as "rank table '/x': missing"; empty: all inputs are there.
  std::function<void(const std::string& waits_for)> on_changed;
  /// A new or changed rank table is there, and all other inputs are. Its error is reported as if the file were wrong.
  std::function<Result<>(rank_table::TableFile file)> take_new_table;
  /// Called at each poll when all inputs are there; returns what this node still waits for, or an empty text. The
  /// timeout does not apply to it.
  std::function<std::string()> find_route;
  /// An input is invalid (`BadInput`), or the timeout is over (`Incomplete`).
  std::function<void(EndKind kind, const std::string& why)> on_failed;

  /// Polls at once. Called again after an attempt, since another one may follow.
  void start();
  void cancel();
  /// Polls now: an input may have changed.
  void check();
  /// Also watches the directory of this file.
  void watch_as_well(const std::string& path);

 private:
  using ErrorCode = boost::system::error_code;

  void check_if_touched();
  void take(Answer answer);
  Answer take_table(Answer answer);
  void note(const std::string& waits_for, bool lacks_input);
  void watch_folders();
  void wait_for_events();
  void on_events(const ErrorCode& error);
  void on_deadline();

  const std::vector<Input>& inputs_;
  std::vector<Input> watched_too_;
  std::chrono::milliseconds timeout_;
  boost::asio::posix::stream_descriptor events_;
  Timer poll_timer_;
  Timer deadline_;
  std::string waits_for_;
  std::string table_;           ///< text of the table that was taken last
  std::optional<int> version_;  ///< and its version
  std::string stamp_;           ///< fingerprint of the files as read last
  bool is_over_ = false;
  bool is_here_ = false;  ///< all inputs are there
};

}  // namespace muster
