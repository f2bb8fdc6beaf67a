// Starts the helper process of the command, and passes on what that has answered.
#include "agent/hang/hang_hook.hpp"

#include "base/log.hpp"
#include "base/text.hpp"
#include "process/run_program.hpp"

#include <chrono>
#include <utility>

namespace muster {
namespace {

constexpr std::chrono::seconds kTimeLimit{30};
/// For the helper process, which ends by itself after the limit.
constexpr std::chrono::seconds kMostTime{40};
/// For the answer of the helper process, once the job has ended.
constexpr std::chrono::milliseconds kTimeToEnd{300};
constexpr std::size_t kMostOutput = std::size_t{1} << 20U;
/// Name of pending work.
constexpr const char* kCommand = "the command of --on-hang";

/// A line with what went wrong, and the output.
std::string answer_of(ProgramRequest request) {
  request.end = std::chrono::steady_clock::now() + kTimeLimit;
  const auto answer = run_program(request);
  if (!answer) {
    return "cannot be started: " + answer.error().message + "\n";
  }
  const bool has_failed = answer->end == ProgramAnswer::End::ByItself && !answer->status.ok();
  return (answer->end == ProgramAnswer::End::TooLate ? "has not ended in time, and was killed"
          : has_failed ? "ended with " + answer->status.describe() + ", expected exit code 0"
                       : "") +
         "\n" + answer->said.substr(0, kMostOutput);
}

}  // namespace

HangHook::HangHook(ProcessLoop& loop, PendingWork& pending, const RunContext& run)
    : pending_(pending), run_(run), file_(loop.queues().logs()), task_(loop.io(), loop.helpers()) {}

void HangHook::run(std::map<std::string, std::string> environment) {
  const std::string& command = run_.options.hangs.command;
  if (command.empty()) {
    return;
  }
  if (!task_.is_idle()) {
    log_warning(std::string(kCommand) + " still runs: not started for this hang");
    return;
  }
  auto lifeline = make_pipe();
  if (!lifeline) {
    log_warning(std::string("cannot run ") + kCommand + ": " + lifeline.error().message);
    return;
  }
  lifeline_ = std::move(lifeline->write);
  ProgramRequest request{.command = {"/bin/sh", "-c", command},
                         .inherited = &run_.inherited,
                         .variables = std::move(environment),
                         .lifeline = lifeline->read.get()};
  const auto work = [request = std::move(request)] {
    return is_helper_process() ? answer_of(request) : "cannot be started: no process can be made\n";
  };
  task_.start({work, kMostTime, [this](const HelperTask::Answer& answer) { take(answer); }, {lifeline->read.get()}});
}

void HangHook::take(const HelperTask::Answer& answer) {
  lifeline_.reset();
  const std::string text = answer.value_or("\n");
  const auto end = text.find('\n');
  write_output(text.substr(end + 1));
  if (end > 0) {
    constexpr std::size_t kShownBytes = 200;
    log_warning(std::string(kCommand) + " '" + one_line(run_.options.hangs.command, kShownBytes) + "' " +
                text.substr(0, end));
  }
  pending_.remove(kCommand);
}

void HangHook::write_output(const std::string& output) {
  if (output.empty() || file_.append(output)) {
    return;
  }
  const std::string_view lines = output;
  for (const std::string& line : split(lines.substr(0, lines.size() - (output.ends_with('\n') ? 1 : 0)), '\n')) {
    log_info("on-hang: " + line);
  }
}

void HangHook::end() {
  if (!task_.is_idle()) {
    lifeline_.reset();
    pending_.add(kCommand);
    task_.shorten(kTimeToEnd);
  }
}

}  // namespace muster
