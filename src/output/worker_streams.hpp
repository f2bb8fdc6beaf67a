#pragma once

// What the workers of one attempt write: files and tails, and where each stream goes. Private to
// run/.

#include "agent/run.hpp"
#include "output/consoles.hpp"
#include "output/pipe_reader.hpp"
#include "plan/launch_plan.hpp"
#include "process/spawn.hpp"

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// What takes the output of workers, for longer than an attempt.
struct Sinks {
  Consoles& consoles;
  LogFiles& logs;
};

/// What decides where the output of workers goes. All of it outlives the streams.
struct StreamSettings {
  const RunOptions& options;
  const std::map<std::string, std::string>& variables;
  const std::string& log_folder;
};

/// Owns everything that is read from the workers of one attempt.
class WorkerStreams {
 public:
  WorkerStreams(boost::asio::io_context& io, const Sinks& sinks, const LaunchPlan& plan,
                const StreamSettings& settings);
  ~WorkerStreams() = default;
  WorkerStreams(const WorkerStreams&) = delete;
  WorkerStreams& operator=(const WorkerStreams&) = delete;

  /// Called when a stream of a worker has reached its end.
  std::function<void(std::size_t worker)> on_end;
  /// Called when the terminal that a worker writes to has got another size, and nobody has told it.
  std::function<void(std::size_t worker)> on_resized;

  /// To be called when the console may have another size: the workers' terminals follow.
  void fit_windows() { output_.fit_windows(); }
  /// To be called when a shell is about to write to the terminal.
  void leave_rows() { output_.leave_rows(); }
  /// To be called when it is ours again.
  void return_to_rows() { output_.return_to_rows(); }

  /// Orders the log files of all workers. True: it is known of each whether it can be had; else `next` is
  /// called once that is so, or when it has taken too long.
  [[nodiscard]] bool open_files(const std::function<void()>& next);
  /// `next` is not called any more.
  void stop_opening() { sinks_.logs.stop_waiting(); }
  /// How a worker is to be connected.
  [[nodiscard]] OutputConnection way_of(std::size_t worker) const;
  /// From here on reads what a worker writes; `ends` were made as `way_of` says. Fails when a log file could not be made.
  [[nodiscard]] Result<> connect(std::size_t worker, StreamEnds ends);
  /// To be called when a connected worker has been started, before anything is read from it: the
  /// prefix of its lines may hold its pid.
  void note_start(std::size_t worker, pid_t pid);

  void write_as_worker(std::size_t worker, std::string_view lines) { output_.write_as_worker(worker, lines); }

  /// When it last wrote something; empty: never.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> last_output(std::size_t worker) const {
    return output_.last_output(worker);
  }
  [[nodiscard]] bool has_ended(std::size_t worker) const { return output_.has_ended(worker); }
  [[nodiscard]] std::vector<std::string> last_lines(std::size_t worker) const { return output_.last_lines(worker); }

  /// To be called once, after the last process has ended: reads what is left, ends every stream and
  /// closes its files. What consoles and files have not taken yet is on its way.
  void finish();

 private:
  [[nodiscard]] Destination destination(std::size_t worker, bool is_error) const;
  /// It may read what is typed at the terminal.
  [[nodiscard]] bool is_typed_to(std::size_t worker) const;
  [[nodiscard]] StreamTarget target(std::size_t worker, bool is_error) const;
  [[nodiscard]] StreamRoute make_route(std::size_t worker, bool is_error) const;
  /// What one worker writes, before it has been started.
  struct Routes {
    std::optional<StreamRoute> out;  ///< empty where both streams are one
    StreamRoute err;
  };

  void open_files_of(std::size_t worker);
  void open_log(StreamRoute& route, std::shared_ptr<LogFile>& joined);
  void open_filtered(StreamRoute& route);
  /// By its path as the plan has it.
  [[nodiscard]] std::shared_ptr<LogFile> open_file(const std::string& path);
  [[nodiscard]] bool has_prefix(const WorkerPlan& planned) const;
  [[nodiscard]] std::string prefix_text(std::size_t worker, std::optional<pid_t> pid) const;
  [[nodiscard]] std::string coloured(const std::string& text, const StreamRoute& route) const;
  void set_prefixes(StreamRoute& route, std::optional<pid_t> pid) const;

  Sinks sinks_;
  const LaunchPlan& plan_;
  const RunOptions& options_;
  const std::map<std::string, std::string>& variables_;
  const std::string& log_folder_;  ///< in front of the plan's paths; empty: they are whole
  PipeReader output_;
  std::vector<Routes> routes_;                   ///< by worker; taken away by `connect`
  std::vector<std::shared_ptr<LogFile>> files_;  ///< of this attempt
  std::shared_ptr<LogFile> filtered_out_;        ///< of all workers together, made when it is needed
  std::shared_ptr<LogFile> filtered_err_;
};

}  // namespace muster
