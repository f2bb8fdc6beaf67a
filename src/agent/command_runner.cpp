// Starts the helper process of the command, and reads what that has answered.
#include "agent/command_runner.hpp"

#include "base/secrets.hpp"
#include "base/text.hpp"
#include "process/run_program.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace muster {
namespace {

using Clock = std::chrono::steady_clock;

/// Time for the helper process to answer; it ends by itself after the limit and the grace. The leader waits for the
/// answer as long as `gang::PreflightCommand::kTimeToAnswer`: this, the grace and `kExtraTimeForRunnable`.
constexpr std::chrono::seconds kTimeToAnswer{10};
/// Time for the helper process to answer once the job has ended.
constexpr std::chrono::milliseconds kTimeToEnd{300};
constexpr std::size_t kMostOutput = std::size_t{1} << 20U;
constexpr const char* kTooLate = "has not ended in time, and was killed";
constexpr const char* kNoAnswer = "has not reported how it ended: the process of muster that ran it was killed";

/// The last line that is not blank, for messages.
std::string shown_last_line(std::string_view output) {
  constexpr std::size_t kMostShown = 200;
  const std::string_view text = trim(output.substr(output.size() - std::min(output.size(), kMostRest)));
  return masked_line(text.substr(text.rfind('\n') + 1), kMostShown);
}

/// The output; of a long one only the beginning and the end.
std::string kept_output(const ProgramAnswer& answer) {
  if (answer.rest.empty() && answer.said.size() <= kMostOutput) {
    return answer.said;
  }
  const std::string& end = answer.rest.empty() ? answer.said : answer.rest;
  return answer.said.substr(0, kMostOutput / 2) + "\n... (more output is left out) ...\n" +
         end.substr(end.size() - std::min(end.size(), kMostOutput / 2));
}

/// Runs the command. The answer is a line with the failure, a line with the last line, and the output.
std::string answer_of(ProgramRequest request, std::chrono::milliseconds limit) {
  request.end = Clock::now() + limit;
  const auto answer = run_program(request);
  if (!request.awaits_writers) {
    end_orphans_of_helper();
  }
  if (!answer) {
    return "cannot be started: " + answer.error().message + "\n\n";
  }
  const bool has_failed = answer->end == ProgramAnswer::End::ByItself && !answer->status.ok();
  return (answer->end == ProgramAnswer::End::TooLate ? kTooLate
          : has_failed                               ? "ended with " + answer->status.describe()
                                                     : std::string()) +
         "\n" + shown_last_line(answer->rest.empty() ? answer->said : answer->rest) + "\n" + kept_output(*answer);
}

CommandEnd read_end(const std::string& text) {
  const auto first = text.find('\n');
  const auto second = text.find('\n', first + 1);
  return {text.substr(0, first), text.substr(first + 1, second - first - 1), text.substr(second + 1)};
}

}  // namespace

CommandRunner::CommandRunner(ProcessLoop& loop, PendingWork& pending, const Inherited& inherited, std::string name)
    : pending_(pending), inherited_(inherited), name_(std::move(name)), task_(loop.io(), loop.helpers()) {}

Result<> CommandRunner::start(UserCommand command, std::function<void(CommandEnd)> then) {
  auto lifeline = TRY(make_pipe());
  lifeline_ = std::move(lifeline.write);
  ProgramRequest request{.command = {"/bin/sh", "-c", std::move(command.line)},
                         .inherited = &inherited_,
                         .variables = std::move(command.environment),
                         .lifeline = lifeline.read.get(),
                         .grace = command.grace,
                         .awaits_writers = !command.ends_with_its_program};
  const auto work = [request = std::move(request), limit = command.limit] {
    return is_helper_process() ? answer_of(request, limit) : "cannot be started: no process can be made\n\n";
  };
  const auto most_time = command.limit + command.grace + kTimeToAnswer;
  task_.start({work,
               most_time,
               [this, late = Clock::now() + most_time, then = std::move(then)](const HelperTask::Answer& answer) {
                 const char* const why = !lifeline_ ? "" : Clock::now() < late ? kNoAnswer : kTooLate;
                 lifeline_.reset();
                 then(read_end(answer.value_or(why + std::string("\n\n"))));
                 pending_.remove(name_);
               },
               {lifeline.read.get()}});
  return {};
}

void CommandRunner::end() {
  if (!task_.is_idle()) {
    lifeline_.reset();
    pending_.add(name_);
    task_.shorten(kTimeToEnd);
  }
}

}  // namespace muster
