#pragma once

// The agent: owns the event loop, the attempt that runs and the link to the gang, and hands what
// happens from one to the other. Private to run/.

#include "attempt.hpp"
#include "errand_queue.hpp"
#include "front_link.hpp"
#include "input_wait.hpp"
#include "job_control.hpp"
#include "notices/notice_source.hpp"
#include "output/consoles.hpp"
#include "output/last_call.hpp"
#include "output/log_files.hpp"
#include "own_ports.hpp"
#include "own_route.hpp"
#include "own_table.hpp"
#include "own_ways.hpp"
#include "process/asides.hpp"
#include "process/guard.hpp"
#include "progress_file.hpp"
#include "reasons_to_stay.hpp"
#include "signs_of_life.hpp"
#include "stop_requests.hpp"
#include "store/store_port.hpp"
#include "timers.hpp"

#include <muster/environment/oom_counter.hpp>
#include <muster/gang/gang.hpp>
#include <muster/run/run.hpp>
#include <muster/service/service.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster {

/// What the agent is given; everything outlives it.
struct AgentInput {
  const JobPlan& job;
  const RunOptions& options;
  const Inherited& inherited;
  const std::map<std::string, std::string>& variables;
  const LastWords& last_words;
  const std::string& marker;
  const std::string& log_folder;
  const std::string& run_folder;
  const std::string& shared_folder;  ///< in shared memory, or where there is none the same as above
};

class Agent {
 public:
  Agent(const AgentInput& input, GuardLink link);

  /// Runs the job to its end and returns the exit code.
  int run();

 private:
  /// What a report has at least, and what it and log files have at most when somebody does not want to wait.
  static constexpr std::chrono::milliseconds kMoment{300};

  using Clock = std::chrono::steady_clock;
  using Descriptor = boost::asio::posix::stream_descriptor;
  using ErrorCode = boost::system::error_code;

  // Reasons to stay.
  static constexpr const char* kEndOfJob = "the end of the job";
  static constexpr const char* kFilesOfServices = "the files of the services";

  void wait_for(Descriptor& descriptor, void (Agent::*handler)(const ErrorCode&));
  void on_signals(const ErrorCode& error);
  void on_guard_lost(const ErrorCode& error);
  void take_signal(int signal);
  void request_stop(int signal);
  void stop(int signal);
  void act_on_failures();
  void listen_to_front();

  // What is asked from outside, and notices: agent_control.cpp.
  [[nodiscard]] JobState job_state() const;
  void start_control();
  [[nodiscard]] control::NodeStatus describe_node() const;
  void add_job_environment(LaunchPlan& plan, const gang::Start& start) const;
  void request_suspend(int signal);
  void take_notice(const std::string& source, std::optional<std::chrono::milliseconds> within);
  void tell_workers(const gang::SuspendNotice& notice);

  // What the gang wants.
  [[nodiscard]] gang::GangCallbacks callbacks();
  [[nodiscard]] LaunchPlan plan_of_attempt(const gang::Start& start, const gang::Exchanged& merged);
  void start_attempt(const gang::Start& start, const gang::Exchanged& merged);
  void say_start(const LaunchPlan& plan,
                 const Placement& placement,
                 const std::string& interface) const;
  void on_workers_asked(int signal);
  void on_attempt_over();
  void tell_attempt_over(std::optional<bool> made_progress);
  [[nodiscard]] std::string attempt_name() const;
  void bury_attempt();
  void wait_for_inputs();
  [[nodiscard]] Result<> take_table(rank_table::TableFile file);
  [[nodiscard]] std::string look_for_route();
  [[nodiscard]] Result<Offer> reserve_port();
  [[nodiscard]] std::unique_ptr<Services> make_services(const std::vector<std::string>& names);
  [[nodiscard]] FileWork file_work();
  [[nodiscard]] std::optional<int> rank_of(std::uint32_t pid) const;
  void note_awaited_keys(const store::AwaitedKeys& awaited);
  void say_files_are_late() const;
  [[nodiscard]] gang::GangSetup setup_with_keys() const;
  [[nodiscard]] Result<> contribute();
  [[nodiscard]] Result<> contribute_table();
  void leave(const JobEnd& end);

  // The end.
  void tell_suspended();
  void note_source_told();
  void conclude();
  void write_report();
  void say_last_words(const Result<>& report);
  void hurry();
  void give_up_logs();
  void wait_for_last_lines();
  [[nodiscard]] std::vector<std::string> describe_unwritten();
  [[nodiscard]] bool is_all_written(const std::function<void()>& next);
  void on_goodbye();
  void say_why_we_stay();
  [[nodiscard]] Outcome make_outcome();

  AgentInput input_;
  GuardLink link_;
  boost::asio::io_context io_{1};
  Asides asides_;
  Consoles consoles_;
  LogFiles logs_;
  LastCall last_call_;
  ProgressWatch progress_;
  StorePort store_;
  Companions companions_;
  JobControl control_;
  std::vector<std::unique_ptr<NoticeSource>> notice_sources_;
  std::size_t unheard_sources_ = 0;  ///< those that have not yet told who sent them
  OwnPorts ports_;
  gang::Gang gang_;
  InputWait inputs_;
  OwnTable table_;
  OwnWays ways_;
  OwnRoute route_;
  ReasonsToStay reasons_;
  ErrandQueue service_files_;
  std::string written_;  ///< which of them, in words
  std::unique_ptr<Attempt> attempt_;
  std::unique_ptr<Services> services_;  ///< of the attempt that the leader is about to start
  Descriptor signals_;
  Descriptor lifeline_;
  std::optional<JobEnd> end_;
  const std::string run_id_;     ///< of a job of one node that has no id
  const std::string log_token_;  ///< tells its log folder from those of other runs
  std::set<int> told_attempts_;  ///< see `Outcome`
  Clock::time_point started_ = Clock::now();
  StopRequests stop_requests_;
  int asked_early_by_ =
      0;  ///< the signal that the guard has asked the workers by; it still waits to be read
  SignsOfLife signs_of_life_;
  /// Found once, before anybody counts on us: which groups we are in, the kernel tells when nobody moves a process between groups.
  std::string oom_counter_ = find_oom_counter();
  std::unique_ptr<FrontLink> front_;  ///< empty: nobody's
  bool does_front_say_why_ = false;
  std::optional<Outcome> outcome_;  ///< since everything else has been said
  Errand report_;
  std::optional<std::chrono::nanoseconds> init_time_;  ///< see `Outcome`
  std::string awaited_keys_;  ///< in the store, when the ranks of this attempt were asked to end
  bool has_concluded_ = false;
  bool is_in_a_hurry_ = false;
  LaterLook late_files_look_;
  LaterLook first_look_;  ///< at the reasons, when the end has begun
  LaterLook next_look_;
  LaterLook last_look_;  ///< at log files, for who is in a hurry
};

}  // namespace muster
