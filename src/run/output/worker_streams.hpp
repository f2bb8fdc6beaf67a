#pragma once

// What the workers of one attempt write: files and tails, and where each stream goes. Private to
// run/.

#include "consoles.hpp"
#include "output.hpp"

#include <muster/plan/launch_plan.hpp>
#include <muster/run/run.hpp>

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// What decides where the output of workers goes. All of it outlives the streams.
struct StreamSettings {
  const RunOptions& options;
  const std::map<std::string, std::string>& variables;
  const std::string& log_folder;
};

/// Owns everything that is read from the workers of one attempt.
class WorkerStreams {
 public:
  WorkerStreams(boost::asio::io_context& io,
                Consoles& consoles,
                const LaunchPlan& plan,
                const StreamSettings& settings);
  ~WorkerStreams() = default;
  WorkerStreams(const WorkerStreams&) = delete;
  WorkerStreams& operator=(const WorkerStreams&) = delete;

  /// Called when a stream of a worker has reached its end.
  std::function<void(std::size_t worker)> on_end;

  /// From here on reads the pipes of a worker. Fails when a log file cannot be made.
  [[nodiscard]] Result<> connect(std::size_t worker, UniqueFd out, UniqueFd err);
  /// To be called when a connected worker has been started, before anything is read from it: the
  /// prefix of its lines may hold its pid.
  void note_start(std::size_t worker, pid_t pid);

  void write_for(std::size_t worker, std::string_view lines) { output_.write_for(worker, lines); }

  [[nodiscard]] bool has_ended(std::size_t worker) const { return output_.has_ended(worker); }
  [[nodiscard]] std::vector<std::string> last_lines(std::size_t worker) const {
    return output_.last_lines(worker);
  }

  /// After the last process has ended: reads what is left and ends every stream. False when a
  /// console must take bytes first; then `next` is called once that has happened.
  [[nodiscard]] bool finish(const std::function<void()>& next);

  /// Whose lines a console has not taken yet: "rank 3". To be asked when `finish` has said so.
  [[nodiscard]] std::string describe_awaited() const;

  /// One sentence for each file that lacks bytes. To be called once, at the end.
  [[nodiscard]] std::vector<std::string> describe_missing() const {
    return output_.describe_missing();
  }

 private:
  [[nodiscard]] Destination destination(std::size_t worker, bool is_error) const;
  [[nodiscard]] StreamRoute make_route(std::size_t worker, bool is_error) const;
  [[nodiscard]] Result<> open_log(StreamRoute& route, std::shared_ptr<LogFile>& joined) const;
  [[nodiscard]] Result<> open_filtered(StreamRoute& route);
  [[nodiscard]] std::string log_path(std::size_t worker, const char* ending) const;
  [[nodiscard]] bool has_prefix(const WorkerPlan& planned) const;
  [[nodiscard]] std::string prefix_text(std::size_t worker, std::optional<pid_t> pid) const;
  [[nodiscard]] std::string coloured(const std::string& text, const StreamRoute& route) const;
  void set_prefixes(StreamRoute& route, std::optional<pid_t> pid) const;

  Consoles& consoles_;
  const LaunchPlan& plan_;
  const RunOptions& options_;
  const std::map<std::string, std::string>& variables_;
  const std::string& log_folder_;  ///< in front of the plan's paths; empty: they are whole
  Output output_;
  std::shared_ptr<LogFile> filtered_out_;  ///< of all workers together, made when it is needed
  std::shared_ptr<LogFile> filtered_err_;
  bool knows_the_end_ = false;
  bool is_closed_ = false;
};

}  // namespace muster
