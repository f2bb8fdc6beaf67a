#pragma once

// Turns notices, by a signal or from a source (src/notices), into requests to the gang to suspend the job. Private to
// src/agent.

#include "agent/process_loop.hpp"
#include "agent/shutdown.hpp"
#include "gang/gang.hpp"
#include "notices/notice_source.hpp"
#include "run/run_options.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace muster {

class SuspendRequests : private NoticeSourceOwner {
 public:
  /// The references outlive it.
  SuspendRequests(ProcessLoop& loop, Shutdown& shutdown, const RunOptions& options, gang::Gang& gang)
      : loop_(loop), shutdown_(shutdown), options_(options), gang_(gang) {}

  /// Starts the sources that the options ask for.
  void start();
  /// This node got the signal that asks for a suspension.
  void request(int signal);
  /// The workers have been told of a notice.
  void on_delivered();
  /// The job has ended: no notice is taken any more. The end waits until the sources have reported a suspension.
  void end(bool is_suspended);

 private:
  void take_notice(const std::string& source, std::optional<std::chrono::milliseconds> within) override;
  void withdraw_notice(const std::string& source) override;
  void note_source_done() override;

  ProcessLoop& loop_;
  Shutdown& shutdown_;
  const RunOptions& options_;
  gang::Gang& gang_;
  std::vector<std::unique_ptr<NoticeSource>> sources_;
  std::size_t pending_ = 0;  ///< sources that have not yet reported the suspension
};

}  // namespace muster
