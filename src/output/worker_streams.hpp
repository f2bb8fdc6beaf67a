#pragma once

// Reads the output of the workers of one attempt and connects each stream to consoles, files and tails.

#include "output/pipe_reader.hpp"
#include "plan/launch_plan.hpp"
#include "process/spawn.hpp"
#include "run/run_context.hpp"

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// All streams that are read from the workers of one attempt.
class WorkerStreams : public PipeReader {
 public:
  /// The references outlive the streams.
  WorkerStreams(boost::asio::io_context& io, OutputQueues& queues, const LaunchPlan& plan, const RunContext& run);

  /// Requests the log files of all workers. True when each is created or has failed; otherwise `next` is called once
  /// that is so, or after a timeout.
  bool open_files(const std::function<void()>& next);
  /// Cancels the `next` of `open_files`.
  void stop_opening() { queues().logs().stop_waiting(); }
  /// Returns how to connect a worker's streams.
  OutputConnection connection_of(std::size_t worker) const;
  /// Starts reading a worker's streams; `ends` were made as `connection_of` says. Fails when a log file could not be
  /// created.
  [[nodiscard]] Result<> connect(std::size_t worker, StreamEnds ends);
  /// To be called when a connected worker has started, before anything is read from it: the prefix of its lines may
  /// contain its pid.
  void note_start(std::size_t worker, pid_t pid);

  /// To be called once, after the last process has ended: reads the rest, ends every stream and closes its files.
  /// Consoles and files may still have bytes queued.
  void finish();

 private:
  Destination destination(std::size_t worker, bool is_error) const;
  /// True when the worker may read the terminal's input.
  bool is_typed_to(std::size_t worker) const;
  StreamTarget target(std::size_t worker, bool is_error) const;
  StreamRoute make_route(std::size_t worker, bool is_error) const;
  /// The routes of one worker before its start.
  struct Routes {
    std::optional<StreamRoute> out;  ///< empty when both streams are one
    StreamRoute err;
  };

  void open_files_of(std::size_t worker);
  void open_log(StreamRoute& route, std::shared_ptr<LogFile>& joined);
  void open_filtered(StreamRoute& route);
  /// Opens a log file, whose path in the plan is relative to the log directory.
  std::shared_ptr<LogFile> open_file(const std::string& path);
  bool has_prefix(const WorkerPlan& planned) const;
  std::string prefix_text(std::size_t worker, std::optional<pid_t> pid) const;
  std::string coloured(const std::string& text, const StreamRoute& route) const;
  void set_prefixes(StreamRoute& route, std::optional<pid_t> pid) const;

  const LaunchPlan& plan_;
  const RunContext& run_;
  std::vector<Routes> routes_;                   ///< by worker; moved out by `connect`
  std::vector<std::shared_ptr<LogFile>> files_;  ///< of this attempt
  std::shared_ptr<LogFile> filtered_out_;        ///< of all workers together, created on demand
  std::shared_ptr<LogFile> filtered_err_;
};

/// The worker that alone reads standard input, and so owns the terminal: the chosen one, otherwise a single one;
/// empty: none. The chosen one may be missing, because this node may get fewer workers than expected.
std::optional<std::size_t> reader_of_input(const LaunchPlan& plan, const RunOptions& options);

}  // namespace muster
