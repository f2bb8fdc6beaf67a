#pragma once

// Waits for files that somebody else writes, until all of them are there. Private to run/.

#include "base/file_io.hpp"
#include "inputs/input_files.hpp"
#include "supervise/job_end.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// Asks at the start, whenever something happens in a folder of an input, and every few seconds: what
/// another host does on a network file system is not told to this one. Goes on until the workers start,
/// also when all is there: whoever writes a file may take it back. While workers run nothing is looked at.
class InputWatcher {
 public:
  InputWatcher(boost::asio::io_context& io, const std::vector<Input>& inputs, std::chrono::milliseconds timeout);

  /// What is waited for has changed: whole words, such as "rank table '/x': missing"; empty: all is
  /// there.
  std::function<void(const std::string& waits_for)> on_change;
  /// A rank table is there, and is as it was not before. It counts when all inputs are there; what is
  /// wrong with it for this node is said as if the file were wrong.
  std::function<Result<>(rank_table::TableFile file)> on_table;
  /// What this node waits for when all inputs are there, as above; asked at each look. No time limit of ours
  /// counts for it.
  std::function<std::string()> then_check;
  /// It cannot become better (`BadInput`), or the time is over (`Incomplete`).
  std::function<void(EndKind kind, const std::string& why)> on_failure;

  /// The first question is asked at once. Again when an attempt is over: another one may follow.
  void start();
  void cancel();
  /// Something that it waits for may have changed.
  void look();
  /// Looks, too, when something happens in the folder of this file.
  void watch_as_well(const std::string& path);

  /// Empty: all is there, or nothing was wanted.
  [[nodiscard]] const std::string& waits_for() const { return waits_for_; }

 private:
  using ErrorCode = boost::system::error_code;

  void probe_all();
  void check_if_touched();
  void take(Answer answer);
  [[nodiscard]] Answer take_table(Answer answer);
  void note(const std::string& waits_for, bool lacks_input);
  void watch_folders();
  void wait_for_events();
  void on_events(const ErrorCode& error);
  void poll_again_later();
  void on_deadline(const ErrorCode& error);

  const std::vector<Input>& inputs_;
  std::vector<Input> watched_too_;
  std::chrono::milliseconds timeout_;
  boost::asio::posix::stream_descriptor events_;
  boost::asio::steady_timer poll_timer_;
  boost::asio::steady_timer deadline_;
  std::string waits_for_;
  std::string table_;           ///< the text that was told last
  std::optional<int> version_;  ///< and what was counted for it
  std::string stamp_;           ///< of the files as they were read last
  bool is_over_ = false;
  bool is_here_ = false;  ///< all that they have to be
  bool has_deadline_ = false;
};

}  // namespace muster
