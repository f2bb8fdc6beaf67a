#pragma once

// What the workers of this node write: consoles, files and tails, and where each stream goes.
// Private to run/.

#include "console.hpp"
#include "output.hpp"

#include <muster/plan/launch_plan.hpp>
#include <muster/run/run.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace muster {

/// Owns the consoles and everything that is read from workers. While it lives, muster's own
/// messages go through the console for errors, so that they tear no line.
class WorkerStreams {
 public:
  WorkerStreams(boost::asio::io_context& io,
                const LaunchPlan& plan,
                const RunOptions& options,
                const std::map<std::string, std::string>& variables,
                const std::string& log_folder);
  ~WorkerStreams();
  WorkerStreams(const WorkerStreams&) = delete;
  WorkerStreams& operator=(const WorkerStreams&) = delete;

  /// Called when a stream of a worker has reached its end.
  std::function<void(std::size_t worker)> on_end;

  /// From here on reads the pipes of a worker. Fails when a log file cannot be made.
  [[nodiscard]] Result<> connect(std::size_t worker, UniqueFd out, UniqueFd err);

  [[nodiscard]] bool has_ended(std::size_t worker) const { return output_.has_ended(worker); }
  [[nodiscard]] std::vector<std::string> last_lines(std::size_t worker) const {
    return output_.last_lines(worker);
  }

  /// After the last process has ended: reads what is left and ends every stream. False when a
  /// console must take bytes first; then `next` is called once that has happened.
  [[nodiscard]] bool finish(const std::function<void()>& next);

  /// True when every console has taken all that it will; else `next` is called later.
  [[nodiscard]] bool are_consoles_settled(const std::function<void()>& next);

  /// Waits for no console any more: what they have not taken is dropped and counted.
  void abandon_consoles();

  /// Sentences about what files and consoles lack. To be called once, at the end.
  [[nodiscard]] std::vector<std::string> describe_losses();

 private:
  [[nodiscard]] Result<StreamRoute> make_route(std::size_t worker, bool is_error) const;
  [[nodiscard]] std::string prefix_of(std::size_t worker, bool is_error) const;
  [[nodiscard]] std::vector<Console*> consoles() const;
  void abandon(Console& console);

  boost::asio::io_context& io_;
  const LaunchPlan& plan_;
  const RunOptions& options_;
  const std::map<std::string, std::string>& variables_;
  const std::string& log_folder_;  ///< in front of the plan's paths; empty: they are whole
  std::unique_ptr<Console> error_console_;
  std::unique_ptr<Console> out_console_;  ///< empty when both streams are the same file
  Output output_;
  bool knows_the_end_ = false;
  bool is_closed_ = false;
  std::vector<std::string> losses_;  ///< of abandoned consoles
};

}  // namespace muster
