#pragma once

// Answers requests to a running job, and passes notices on to its workers. Private to src/agent.

#include "agent/control_server.hpp"
#include "agent/hang/hang_record.hpp"
#include "agent/hang/hang_watch.hpp"
#include "agent/hang/rank_evidence.hpp"
#include "base/file_io.hpp"
#include "control/status.hpp"
#include "gang/events.hpp"
#include "hang/process_memory.hpp"
#include "process/helper_process.hpp"
#include "process/timer.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace muster {

/// The job as shown to clients of the control socket; changes with the attempt.
struct JobState {
  std::string id;          ///< empty: none
  std::string rendezvous;  ///< "host:port"; empty: a one-node job
  std::string version;
  pid_t pid = -1;  ///< of the guard, which users see
  int nodes = 1;
};

/// A notice in force.
struct JobNotice {
  std::string source;
  double deadline = 0;  ///< seconds since 1970
};

/// The owner of a job's control: has the gang and the workers.
class JobControlOwner {
 public:
  virtual ~JobControlOwner() = default;

  /// Passes an event to the gang.
  virtual void notify(gang::NodeEvent event) = 0;
  /// State of this node, without values from /proc.
  [[nodiscard]] virtual control::NodeStatus describe_node() const = 0;
  /// Calls `then` later with the keys for which ranks wait in the store that this node serves, as a sentence. False:
  /// it serves none that a rank has reached.
  [[nodiscard]] virtual bool ask_store(std::function<void(const std::string& keys)> then) = 0;
  /// Does not take what workers write in this time for a sign that they go on.
  virtual void disregard_output(std::chrono::seconds time) = 0;
  /// Keeps what is found about all nodes.
  [[nodiscard]] virtual HangRecord& hang_record() = 0;
  /// "rank 3", the worker that is `pid` or an ancestor of it; empty: none.
  [[nodiscard]] virtual std::optional<std::string> name_process(pid_t pid) const = 0;
  /// Ranks of the job in the present attempt.
  [[nodiscard]] virtual int rank_count() const = 0;
};

/// Serves this node's control socket: passes requests on to the gang, merges the answers of all nodes, and writes the
/// files that tell workers of a notice (docs/control.md).
class JobControl : private HangWatchOwner {
 public:
  /// `owner` outlives it.
  JobControl(JobControlOwner& owner, boost::asio::io_context& io, HelperProcesses& helpers, std::string run_folder,
             JobState job);

  /// Limits what looks at the ranks ask, as --hang-ask says.
  void limit_questions(std::set<hang::Question> asks) { asks_ = std::move(asks); }
  /// Begins to listen; on failure the job goes on without a socket.
  void start();
  /// True: the workers are being stopped, for any reason. False: others start.
  void note_stopping(bool is_stopping);
  /// Refuses later requests, and answers pending ones with the reason of the job's end.
  void end(const std::string& why);

  // Callbacks of the gang.
  void describe_status(const gang::StatusQuery& wanted);
  void take_status(const gang::StatusReport& status);
  /// Writes the notice's files before it returns.
  void take_notice(const gang::SuspendNotice& notice, int attempt);

  /// Watches an attempt for hangs. To be called on one node of the job, for each attempt.
  /// How often looks at the ranks have asked what, by the names of --hang-ask.
  [[nodiscard]] std::map<std::string, std::uint64_t> asked() const;
  void watch_for_hangs(hang::StallDetector detector) { hang_watch_.start(std::move(detector)); }
  /// No worker runs any more.
  void stop_watching() { hang_watch_.stop(); }

  /// The way to NCCL in the workers of the next attempt, where a person wishes it to be asked.
  void ask_nccl_of(const NcclQuestion& question) { nccl_ = question; }
  /// Asks the flight recorders of the next attempt.
  void ask_recorders_in(RecorderFolders folders) { recorders_ = std::move(folders); }

  /// Removes the heartbeat files of earlier workers. To be called before workers start again.
  void forget_heartbeats(std::size_t workers) const;
  /// Environment variables of a worker; `worker` is an index on this node.
  [[nodiscard]] std::map<std::string, std::string> environment_of(std::size_t worker) const;

  /// `describe`, with what the programs told by progress() and heartbeat(). Reads files.
  [[nodiscard]] control::NodeStatus describe_with_heartbeats() const;

 private:
  using Reply = ControlServer::Reply;

  /// A question to all nodes, asked once for all who want to know before the answer is complete.
  struct Question {
    std::string what;  ///< see gang::StatusQuery
    Timer timer;       ///< later answers are left out
    int number = 0;    ///< see gang::StatusQuery; each time it is asked it is another one
    /// Called with the answer, or at the end of the job with a reason for which there is none.
    std::vector<std::function<void(const std::string& why_not)>> waiting = {};
    std::vector<std::string> lines = {};  ///< of the nodes that have answered
    std::vector<std::string> ranks = {};  ///< of the same nodes, see gang::StatusReport
    int missing = 0;                      ///< nodes that have not
  };

  void take(const control::HelloRequest& request, pid_t client, const Reply& reply);
  void take(const control::StatusRequest& request, pid_t client, const Reply& reply);
  void take(const control::StacksRequest& request, pid_t client, const Reply& reply);
  void take(const control::StopRequest& request, pid_t client, const Reply& reply);
  void take(const control::SuspendRequest& request, pid_t client, const Reply& reply);
  void take(const control::WithdrawRequest& request, pid_t client, const Reply& reply);
  void take(const control::SavedRequest& request, pid_t client, const Reply& reply);

  void ask_nodes(Question& question, std::function<void(const std::string& why_not)> then);
  void ask_about_stacks(Question& question, const char* what, std::function<void(const std::string& why_not)> then);
  void answer(Question& question, const std::string& why_not = "");
  [[nodiscard]] static hang::Evidence evidence(const Question& question);
  void log_asked() const;
  [[nodiscard]] EvidenceSources sources_of(const std::string& what) const;
  [[nodiscard]] json::object status_answer() const;
  [[nodiscard]] static std::vector<std::string> judge(const hang::Evidence& evidence);
  /// `sentences`: the verdict.
  [[nodiscard]] json::object stacks_answer(const hang::Evidence& evidence,
                                           const std::vector<std::string>& sentences) const;
  [[nodiscard]] QuietSeconds quiet_seconds() const override { return muster::quiet_seconds(owner_.describe_node()); }
  void gather(bool asks_recorders, std::function<void(hang::Evidence)> then) override;
  void report(const hang::StallDetector::Step& step) override;
  void describe_pending();
  void ask_store_and_describe(const std::set<int>& numbers, const EvidenceSources& sources);
  void describe_stacks(const std::set<int>& numbers, const EvidenceSources& sources, const std::string& store);
  void send_description(const std::set<int>& numbers, const std::string& line);
  [[nodiscard]] std::string status_line() const;
  [[nodiscard]] std::string stacks_line(const EvidenceSources& sources, const std::string& store) const;
  [[nodiscard]] json::object job_document() const;
  [[nodiscard]] json::object notice_document() const;
  [[nodiscard]] std::string heartbeat_file(std::size_t worker) const;
  [[nodiscard]] std::string path_of(const char* name) const { return run_folder_ + "/" + name; }

  JobControlOwner& owner_;
  std::string run_folder_;  ///< empty: none
  JobState job_;
  double since_;  ///< seconds since 1970
  ControlServer server_;
  HelperTask helper_;  ///< reads /proc and the heartbeats
  bool is_listening_ = false;
  bool is_stopping_ = false;
  std::optional<std::string> end_;  ///< reason of the job's end
  std::optional<JobNotice> notice_;
  std::vector<Reply> suspend_replies_;
  Question status_question_;
  Question stacks_question_;
  Question nccl_question_;  ///< about stacks, recorders and NCCL
  int questions_asked_ = 0;
  std::map<std::string, std::set<int>> described_;  ///< what is asked about, with the numbers of the queries
  bool is_describing_ = false;
  HangWatch hang_watch_;
  std::set<hang::Question> asks_ = hang::usual_questions();
  Result<SharedArray<hang::AskedCounts>> asked_ = share_array<hang::AskedCounts>(1);  ///< counted in helper processes
  NcclQuestion nccl_;
  RecorderFolders recorders_;
};

}  // namespace muster
