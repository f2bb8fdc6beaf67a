#pragma once

// What workers write about their own failure. Private to run/.

#include "process/errand.hpp"

#include "base/result.hpp"
#include "plan/launch_plan.hpp"

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace muster {

/// The error files of one attempt. Their file system may hang: an errand makes their folders, removes the old ones and reads the
/// new ones, and where it does not answer the attempt goes on without them.
class ErrorFiles {
 public:
  /// The plan outlives it. `run_folder` was made for this run; empty: there is none.
  ErrorFiles(boost::asio::io_context& io,
             HelperProcesses& helpers,
             const LaunchPlan& plan,
             std::string run_folder)
      : errand_(io, helpers), io_(io), plan_(plan), run_folder_(std::move(run_folder)) {}

  /// To be called before the first start: what a worker of an older attempt, or of an older run where the
  /// file is not in the run folder, wrote must not be taken for the word of a new one; and their folder is there.
  /// True: all is done. False: calls `then` once, in a later turn of the loop.
  [[nodiscard]] bool prepare(std::function<void()> then);
  /// Fails with `System` where that folder could not be made: nobody is to be started.
  [[nodiscard]] const Result<>& prepared() const { return prepared_; }
  /// Reads those of `workers`, who are dead. Calls `then` once, in a later turn of the loop.
  void read(const std::vector<std::size_t>& workers, std::function<void()> then);
  /// What it wrote, in one sentence. Empty: nothing, or it has not been read.
  [[nodiscard]] std::string message(std::size_t worker) const;

 private:
  [[nodiscard]] bool is_in_run_folder(const std::string& path) const;
  [[nodiscard]] std::vector<std::string> unmade_places() const;
  [[nodiscard]] std::string make_room(const std::vector<std::string>& paths) const;
  void give_up();
  void keep(const std::vector<std::size_t>& workers, const std::string& answer);

  HelperTask errand_;
  boost::asio::io_context& io_;
  const LaunchPlan& plan_;
  std::string run_folder_;
  Result<> prepared_;
  bool has_given_up_ = false;  ///< a file that could not be removed may be there still
  std::map<std::size_t, std::string> messages_;
};

}  // namespace muster
