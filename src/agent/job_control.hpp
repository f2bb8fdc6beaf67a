#pragma once

// Answers requests to a running job, and passes notices on to its workers. Private to src/agent.

#include "agent/control_server.hpp"
#include "agent/hang/hang_watch.hpp"
#include "agent/process_loop.hpp"
#include "agent/shutdown.hpp"
#include "agent/status_reporter.hpp"
#include "gang/gang.hpp"
#include "hang/evidence.hpp"
#include "plan/launch_plan.hpp"
#include "process/timer.hpp"
#include "run/run_context.hpp"

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace muster {

/// A notice in force.
struct JobNotice {
  std::string source;
  double deadline = 0;  ///< seconds since 1970
};

/// Serves this node's control socket: passes requests on to the gang, merges the answers of all nodes, and writes the
/// files that tell workers of a notice (docs/control.md).
class JobControl {
 public:
  /// The references outlive it.
  JobControl(ProcessLoop& loop, PendingWork& pending, const RunContext& run, gang::Gang& gang,
             const StatusReporter& reporter);

  /// Begins to listen; on failure the job goes on without a socket.
  void start();
  /// Adds to the workers' environment where the socket is, and the file of a notice.
  void begin_attempt(LaunchPlan& plan);
  /// Ends the watch for hangs, and answers open requests to suspend, because the workers are being stopped for any reason.
  void note_stopping();
  /// Refuses later requests, and answers pending ones with the reason of the job's end.
  void end(const std::string& why);

  /// Takes the answer of a node to a question.
  void take_status(const gang::StatusReport& status);
  /// Writes the notice's files before it returns.
  void take_notice(const gang::SuspendNotice& notice, int attempt);
  /// Answers those who asked for the notice. `is_signal_caught`: a program of this node got the notice's signal.
  void confirm_notice(bool is_signal_caught);
  /// Says how the workers of this node have been told of the notice: "a file was written and the flag set; ...".
  std::string describe_delivery() const;
  HangWatch& hangs() { return hangs_; }

 private:
  using Reply = ControlServer::Reply;

  /// A question to all nodes. Whoever asks it before the answer is complete gets that answer, too.
  struct Question {
    Timer timer;     ///< limits the wait for answers; later ones are left out
    int number = 0;  ///< of the `gang::StatusQuery`; each time the question is asked it gets a new number
    /// Called when the answer is complete, or with the reason `why_not` if there will be none.
    std::vector<std::function<void(const std::string& why_not)>> waiting = {};
    std::vector<std::string> lines = {};  ///< of the nodes that have answered
    std::vector<std::string> ranks = {};  ///< of the same nodes, see gang::StatusReport
    int missing = 0;                      ///< nodes that have not answered
    std::string awaited = {};             ///< their names; empty: not known
  };

  void take(const control::HelloRequest& request, const ucred& client, const Reply& reply);
  void take(const control::StatusRequest& request, const ucred& client, const Reply& reply);
  void take(const control::StacksRequest& request, const ucred& client, const Reply& reply);
  void take(const control::StopRequest& request, const ucred& client, const Reply& reply);
  void take(const control::SuspendRequest& request, const ucred& client, const Reply& reply);
  void take(const control::WithdrawRequest& request, const ucred& client, const Reply& reply);
  void take(const control::SavedRequest& request, const ucred& client, const Reply& reply);

  void ask_nodes(Question& question, const char* what, std::function<void(const std::string& why_not)> then);
  void answer(Question& question, const std::string& why_not = "");
  static hang::Evidence evidence(const Question& question);
  json::object status_answer() const;
  static std::vector<std::string> judge(const hang::Evidence& evidence);
  /// Makes the answer of `muster stacks`; `sentences` are the verdict.
  json::object stacks_answer(const hang::Evidence& evidence, const std::vector<std::string>& sentences) const;
  void gather(bool asks_recorders, std::function<void(hang::Evidence)> then);
  void report(const hang::StallDetector::Step& step);
  void answer_suspends(const json::object& document);
  json::object job_document() const;
  json::object notice_document() const;
  std::string path_of(const char* name) const { return run_folder_ + "/" + name; }

  gang::Gang& gang_;
  const StatusReporter& reporter_;
  const std::string& run_folder_;  ///< empty: none
  const gang::GangConfig& job_;
  std::optional<int> worker_signal_;  ///< of a notice
  pid_t guard_;                       ///< the pid by which users know the job
  double since_;                      ///< seconds since 1970
  std::string program_;               ///< with its arguments, secrets masked
  std::string folder_;
  ControlServer server_;
  bool is_listening_ = false;
  bool has_written_flag_ = false;  ///< of a notice
  bool is_flag_read_ = false;      ///< a worker has opened the flag, and so asks for a notice
  bool is_signal_caught_ = false;  ///< see `confirm_notice`
  bool is_stopping_ = false;
  std::optional<std::string> end_;  ///< reason of the job's end
  std::optional<JobNotice> notice_;
  std::vector<Reply> suspend_replies_;
  Question status_question_;
  Question stacks_question_;
  Question nccl_question_;  ///< about stacks, recorders and NCCL
  int questions_asked_ = 0;
  HangWatch hangs_;
};

}  // namespace muster
