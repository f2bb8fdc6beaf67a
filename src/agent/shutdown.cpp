// Ends the agent or the remote launcher: drains the output, writes the report in a helper process, and prints the last
// lines.
#include "agent/shutdown.hpp"

#include "base/log.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace muster {
namespace {

// Names of pending work.
constexpr const char* kEndOfJob = "the end of the job";
constexpr const char* kLastLines = "the last lines";
constexpr const char* kReport = "the report";
constexpr const char* kFilesOfServices = "the files of the services";

/// Least time for writing the report, and most time for report and log files in a forced exit.
constexpr std::chrono::milliseconds kMoment{300};
/// A job end that takes longer is logged with --verbose.
constexpr std::chrono::milliseconds kQuickEnd{300};
constexpr std::chrono::seconds kExitLogInterval{5};
/// Services' files that take longer to write are logged: the workers wait for them.
constexpr std::chrono::seconds kLateFiles{1};

}  // namespace

void PendingWork::add(const std::string& name, std::function<std::vector<std::string>()> in_detail) {
  const bool is_there =
      std::any_of(reasons_.begin(), reasons_.end(), [&](const Reason& reason) { return reason.name == name; });
  if (!is_leaving_ && !is_there) {
    reasons_.push_back({name, std::move(in_detail)});
  }
}

void PendingWork::remove(const std::string& name) {
  std::erase_if(reasons_, [&](const Reason& reason) { return reason.name == name; });
}

void PendingWork::exit_early() {
  reasons_.clear();
  is_leaving_ = true;
}

std::string PendingWork::describe() const {
  std::vector<std::string> names;
  for (const Reason& reason : reasons_) {
    std::vector<std::string> details = reason.in_detail ? reason.in_detail() : std::vector<std::string>();
    if (details.empty()) {
      details.push_back(reason.name);
    }
    names.insert(names.end(), details.begin(), details.end());
  }
  return join(names, ", ");
}

// The end.

Shutdown::Shutdown(ProcessLoop& loop, ShutdownOwner& owner, std::optional<int> stream)
    : loop_(loop),
      owner_(owner),
      stream_(stream),
      report_(loop.io(), loop.helpers()),
      exit_log_timer_(loop.io(), kQuickEnd, [this] { log_pending_work(); }),
      repeat_timer_(loop.io(), kExitLogInterval, [this] { log_pending_work(); }),
      give_up_timer_(loop.io(), kMoment, [this] { give_up_logs(); }) {
  pending_work_.add(kEndOfJob);
}

void Shutdown::run() {
  while (!pending_work_.is_empty() && loop_.io().run_one() > 0) {
  }
}

void Shutdown::begin(std::chrono::milliseconds drain_limit) {
  phase_ = std::max(phase_, Phase::Draining);
  wait_for_last_lines();
  pending_work_.remove(kEndOfJob);
  loop_.queues().start_deadline(drain_limit);
}

void Shutdown::finalize() {
  if (is_concluded() || !loop_.queues().drain([this] { finalize(); })) {
    return;
  }
  phase_ = Phase::Reporting;
  pending_work_.add(kReport);
  if (const auto write = owner_.conclude()) {
    write_report(write);
  } else {
    print_exit_report({});
  }
}

/// The report's file system may hang, and the end does not wait for it: the time limit is what remains of the drain
/// deadline.
void Shutdown::write_report(const std::function<Result<>()>& write) {
  const auto work = [&write] {
    const auto written = write();
    return written ? std::string() : written.error().message;
  };
  const auto most_time = is_forced_ ? kMoment : std::max(loop_.queues().time_left(), kMoment);
  const auto then = [this](const HelperTask::Answer& problem) {
    if (!problem) {
      print_exit_report(Error{ErrorKind::System, "the report is not written: its file system does not answer"});
    } else {
      print_exit_report(problem->empty() ? Result<>() : Error{ErrorKind::System, *problem});
    }
  };
  report_.start({work, most_time, then, stream_ ? std::vector<int>{*stream_} : std::vector<int>()});
}

void Shutdown::print_exit_report(const Result<>& report) {
  owner_.print_exit_report(report);
  phase_ = Phase::LastLines;
  if (is_forced_) {
    pending_work_.exit_early();
    return;
  }
  loop_.queues().extend_deadline();
  wait_for_last_lines();
  pending_work_.remove(kReport);
}

void Shutdown::wait_for_last_lines() {
  pending_work_.add(kLastLines, [this] { return loop_.queues().describe_undrained(); });
  if (phase_ == Phase::LastLines && loop_.queues().drain([this] { wait_for_last_lines(); })) {
    pending_work_.remove(kLastLines);
  }
}

void Shutdown::exit_now() {
  loop_.queues().discard_consoles();
  is_forced_ = true;
  if (phase_ == Phase::LastLines) {
    pending_work_.exit_early();
  } else if (phase_ == Phase::Reporting) {
    report_.shorten(kMoment);
  } else {
    give_up_timer_.ask();
    finalize();
  }
}

void Shutdown::give_up_logs() {
  if (!is_concluded()) {
    loop_.queues().logs().give_up();
    finalize();
  }
}

void Shutdown::cancel_watch() {
  exit_log_timer_.cancel();
  repeat_timer_.cancel();
}

void Shutdown::log_pending_work() {
  if (is_logged(Level::Debug) && !pending_work_.is_empty()) {
    log_debug("the end waits for: " + pending_work_.describe());
    repeat_timer_.ask();
  }
}

// Services' files.

ServiceFiles::ServiceFiles(boost::asio::io_context& io, HelperProcesses& helpers, PendingWork& pending,
                           std::chrono::milliseconds most_time)
    : pending_(pending),
      most_time_(most_time),
      task_(io, helpers),
      slow_timer_(io, kLateFiles, [this] { log_info("waiting for " + what_ + " to be written"); }) {}

void ServiceFiles::write(std::string what, HelperTask::Work work, HelperTask::Then then) {
  what_ = std::move(what);
  slow_timer_.ask();
  const auto end = [this, then = std::move(then)](const HelperTask::Answer& answer) {
    slow_timer_.cancel();
    then(answer);
  };
  add({std::move(work), most_time_, end, {}, true});
}

void ServiceFiles::remove(HelperTask::Work work) {
  static constexpr std::chrono::milliseconds kRemoveTimeout{1'000};
  slow_timer_.cancel();
  task_.drop();
  add({std::move(work), kRemoveTimeout, [](const auto& /*answer*/) {}});
}

void ServiceFiles::add(HelperTask::Task task) {
  pending_.add(kFilesOfServices);
  task.then = [this, then = std::move(task.then)](const HelperTask::Answer& answer) {
    then(answer);
    if (task_.is_idle()) {
      pending_.remove(kFilesOfServices);
    }
  };
  task_.add(std::move(task));
}

}  // namespace muster
