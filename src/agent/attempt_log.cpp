// Log messages of an attempt; docs/troubleshooting.md explains each of them.
#include "agent/attempt_log.hpp"

#include "base/log.hpp"
#include "base/text.hpp"

#include <csignal>
#include <utility>

namespace muster {
namespace {

std::string seconds_of(std::chrono::nanoseconds duration) {
  return format_seconds(std::chrono::duration<double>(duration).count()) + " s";
}

/// "python3 train.py": users know the script, not the interpreter.
std::string program_of(const WorkerPlan& worker) {
  const std::vector<std::string>& argv = worker.argv;
  if (!worker.script.empty()) {
    return argv.front() + " " + worker.script;
  }
  if (argv.size() > 2 && argv[1] == "-m") {
    return argv.front() + " -m " + readable(argv[2]);
  }
  const bool names_it = argv.size() > 1 && !argv[1].starts_with('-');
  return argv.front() + (names_it ? " " + readable(argv[1]) : "");
}

}  // namespace

std::string AttemptLog::describe(std::size_t worker, const std::string& unlabelled) const {
  const WorkerPlan& planned = plan_.workers[worker];
  const std::string name =
      planned.label.empty() ? describe_rank(planned.global_rank, unlabelled) : describe_process(planned);
  return name + " (pid " + std::to_string(workers_.pid(worker)) + ")";
}

ProcessNames AttemptLog::living() const {
  ProcessNames living;
  for (std::size_t i = 0; i < plan_.workers.size(); ++i) {
    if (workers_.is_alive(i)) {
      living.add(plan_.workers[i]);
    }
  }
  return living;
}

std::vector<std::string> AttemptLog::describe_living() const {
  const ProcessNames names = living();
  return names.size() == 0 ? std::vector<std::string>() : std::vector{names.describe()};
}

/// Logs the calls that the kernel refused, once per attempt: containers forbid the same calls for all workers.
void AttemptLog::log_refusals() {
  const int refused = workers_.memory_refusal();
  if (refused != 0 && !std::exchange(logged_memory_refusal_, true)) {
    log_warning(system_error("the workers are bound to their CPUs but not to their memory, which comes from the NUMA "
                             "node that first uses it: set_mempolicy",
                             refused)
                    .message);
  }
  const auto& no_terminal = workers_.terminal_refusal();
  if (no_terminal && !std::exchange(logged_terminal_refusal_, true)) {
    const auto say = options_.terminals == When::Always ? log_warning : log_debug;
    say("the workers write into pipes and not into terminals: " + no_terminal->message);
  }
}

void AttemptLog::on_started(std::size_t worker) {
  log_refusals();
  if (is_logged(Level::Debug)) {
    log_debug(describe(worker) + " started: " + program_of(plan_.workers[worker]));
  }
}

void AttemptLog::on_ended(const Death& death) {
  if (death.traced_by) {
    log_warning(describe(death.worker) + " has ended, and the process that traces it (pid " +
                std::to_string(*death.traced_by) + ") holds it: going on without waiting for that");
  }
  if (is_logged(Level::Debug)) {
    const ProcessNames names = living();
    log_debug(describe(death.worker) + " ended: " + death.status.describe() +
              (names.size() == 0 ? "" : "; still running: " + names.describe()));
  }
}

void AttemptLog::on_outputs_closed(std::size_t worker) {
  if (!logged_silent_.insert(worker).second) {
    return;
  }
  if (const auto tracer = tracer_of_zombie(workers_.pid(worker))) {
    log_warning(describe(worker) + " has ended, and cannot be reaped while pid " + std::to_string(*tracer) +
                " traces it (ptrace)");
  } else {
    log_warning(describe_process(plan_.workers[worker]) + " closed its standard output and error and runs on");
  }
}

void AttemptLog::on_long_call(const CallWatch::Found& found) {
  log_warning(describe(found.worker) + " " + muster::describe(found) + ": its disk or device does not answer");
}

void AttemptLog::on_long_call_over(const CallWatch::Found& found) {
  log_info(describe(found.worker) + " goes on after " + std::to_string(found.length.count()) + " s");
}

void AttemptLog::on_stopped(const Stopped& stopped) {
  log_warning(describe(stopped.worker) + " was stopped by " + signal_name(stopped.signal) +
              "; it goes on with 'kill -CONT " + std::to_string(stopped.pid) + "'");
}

void AttemptLog::on_early_end(std::size_t worker) {
  log_warning(describe(worker, plan_.workers[worker].role) +
              " ended with exit code 0 while workers that it serves run on");
}

void AttemptLog::on_unneeded_failure(const ServiceFailure& failure) {
  log_warning("service '" + failure.service + "' failed when the workers were ending: " + failure.error.message);
}

std::string AttemptLog::describe_failure(std::size_t worker) const {
  if (const auto status = supervisor_.status(worker)) {
    const char* const source = workers_.has_passed_on(*status) ? ", which muster passed on" : "";
    return describe(worker) + " failed (" + status->describe() + source + ")";
  }
  return workers_.pid(worker) > 0 ? describe(worker) + " hangs"
                                  : describe_process(plan_.workers[worker]) + " could not be started";
}

std::string AttemptLog::describe_reason(const EndRequest& request) const {
  const AttemptOutcome conclusion = supervisor_.conclusion();
  if (conclusion.first_failure) {
    return describe_failure(*conclusion.first_failure);
  }
  return conclusion.stop_signal ? signal_name(*conclusion.stop_signal) + " received" : request.reason;
}

void AttemptLog::on_notice_not_sent(const std::vector<std::size_t>& workers, int signal) {
  ProcessNames names;
  for (const std::size_t worker : workers) {
    names.add(plan_.workers[worker]);
  }
  if (names.size() > 0) {
    log_warning(names.describe() + (names.size() == 1 ? " does" : " do") + " not catch " + signal_name(signal) +
                " yet, which would end " + (names.size() == 1 ? "it" : "them") +
                ": muster sends it once there is a handler; the notice is in the file that MUSTER_SUSPEND_FILE names");
  }
}

/// Logs the begin of the grace, with its length, because the wait may be long.
void AttemptLog::on_asked_to_end(const EndRequest& request) {
  const ProcessNames names = living();
  if (names.size() == 0) {
    return;
  }
  const bool is_by_keyboard = supervisor_.conclusion().stop_signal == SIGINT;
  const std::string reason = describe_reason(request);
  has_logged_order_ = request.is_ordered && !reason.empty() && reason == request.reason;
  log_info((reason.empty() ? "" : reason + ": ") + "asking " + names.count(noun_of(plan_.workers)) + " to end (" +
           signal_name(request.signal) + "), killing what is left after " + seconds_of(request.grace) +
           (is_by_keyboard ? ", or at a second Ctrl-C" : ""));
}

void AttemptLog::on_late_request(const TellGrace& request, std::chrono::nanoseconds left) {
  log_info(signal_name(request.signal) + (request.is_repeated ? " received again" : " received") +
           ": the processes that were asked to end keep their time, " + seconds_of(left) + " left; " +
           (request.is_repeated ? "" : "another ") + "SIGINT (Ctrl-C) kills now");
}

void AttemptLog::on_still_waiting(std::chrono::nanoseconds left) {
  const ProcessNames names = living();
  log_info("waiting for " + (names.size() == 0 ? "processes that workers left behind" : names.describe()) +
           " to end, " + seconds_of(left) + " left");
}

void AttemptLog::on_overdue(std::size_t worker, const EndRequest& request, const std::string& place) {
  log_warning(describe(worker) + " did not end within " + seconds_of(request.grace) + " of " +
              signal_name(workers_.is_aborted(worker) ? SIGABRT : request.signal) +
              (place.empty() ? "" : "; it is " + place) + ": killing it");
}

void AttemptLog::on_orphans(const std::vector<Process>& left) {
  if (left.empty() || logged_orphans_) {
    return;
  }
  logged_orphans_ = true;
  const bool is_one = left.size() == 1;
  log_warning("all ranks have ended, but " +
              (is_one ? std::string("1 process that they started is")
                      : std::to_string(left.size()) + " processes that they started are") +
              " left behind: " + describe_processes(left) + "; ending " + (is_one ? "it" : "them"));
}

void AttemptLog::on_not_killed(const std::vector<Process>& left) {
  log_error("could not kill " + (left.empty() ? "a process that /proc does not show" : describe_processes(left)) +
            "; leaving it behind");
}

}  // namespace muster
