#pragma once

// What a running job is asked from outside, and what its workers are told of a notice. Private to run/.

#include "agent/control_server.hpp"
#include "control/status.hpp"
#include "gang/events.hpp"
#include "process/helper_process.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// What the agent says of its job to whoever asks; it changes with the attempt.
struct JobState {
  std::string id;          ///< empty: it has none
  std::string rendezvous;  ///< "host:port"; empty: one node
  std::string version;
  pid_t pid = -1;  ///< of the guard: what users see
  int nodes = 1;
};

/// A notice that stands.
struct JobNotice {
  std::string source;
  double deadline = 0;  ///< seconds since 1970
};

/// Serves the control socket of this node: passes requests on to the gang, puts the answers of all nodes together, and writes
/// the files by which workers learn of a notice (docs/control.md).
class JobControl {
 public:
  JobControl(boost::asio::io_context& io, HelperProcesses& helpers, std::string run_folder, JobState job);

  /// Something that the gang must know.
  std::function<void(gang::NodeEvent)> notify;
  /// What this node does now, without what /proc says of its processes.
  std::function<control::NodeStatus()> describe;
  /// "rank 3": the worker that a process is or descends from; empty: of none.
  std::function<std::optional<std::string>(pid_t pid)> name_process;

  /// A job that cannot listen goes on without.
  void start();
  /// The workers are being ended, for whatever reason; or others start.
  void note_stopping(bool is_stopping);
  /// Nobody is answered any more but those who wait: how the job ended.
  void end(const std::string& why);

  // What the gang wants.
  void describe_status(const gang::DescribeStatus& wanted);
  void take_status(const gang::StatusOfNode& status);
  /// The files are written when it returns.
  void take_notice(const gang::SuspendNotice& notice, int attempt);

  /// Before workers start again: what those before have left.
  void forget_heartbeats(std::size_t workers) const;
  /// What workers find in their environment; `worker` counts those of this node.
  [[nodiscard]] std::map<std::string, std::string> environment_of(std::size_t worker) const;

 private:
  using Reply = ControlServer::Reply;

  void take(const control::HelloRequest& request, pid_t client, const Reply& reply);
  void take(const control::StatusRequest& request, pid_t client, const Reply& reply);
  void take(const control::StopRequest& request, pid_t client, const Reply& reply);
  void take(const control::SuspendRequest& request, pid_t client, const Reply& reply);
  void take(const control::WithdrawRequest& request, pid_t client, const Reply& reply);
  void take(const control::SavedRequest& request, pid_t client, const Reply& reply);

  void answer_status(int missing);
  void describe_pending();
  [[nodiscard]] std::string status_line() const;
  [[nodiscard]] json::object job_document() const;
  [[nodiscard]] json::object notice_document() const;
  [[nodiscard]] std::string heartbeat_file(std::size_t worker) const;
  [[nodiscard]] std::string path_of(const char* name) const { return run_folder_ + "/" + name; }

  boost::asio::io_context& io_;
  std::string run_folder_;  ///< empty: there is none
  JobState job_;
  double since_;  ///< seconds since 1970
  ControlServer server_;
  HelperTask helper_;  ///< reads /proc and the heartbeats
  bool is_listening_ = false;
  bool is_stopping_ = false;
  std::optional<std::string> end_;  ///< the job ends, and how
  std::optional<JobNotice> notice_;
  std::vector<Reply> suspend_replies_;
  std::vector<Reply> status_replies_;
  std::vector<std::string> lines_;  ///< of the nodes that have answered
  int missing_ = 0;
  boost::asio::steady_timer status_timer_;
  std::set<int> described_;  ///< numbers of questions that wait for the helper
  bool is_describing_ = false;
};

}  // namespace muster
