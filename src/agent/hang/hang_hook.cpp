// Starts the helper process of the command, and passes on what that has answered.
#include "agent/hang/hang_hook.hpp"

#include "base/log.hpp"
#include "base/text.hpp"
#include "process/limited_command.hpp"

#include <unistd.h>

#include <chrono>
#include <utility>

namespace muster {
namespace {

constexpr std::chrono::seconds kTimeLimit{30};
/// For the helper process, which ends by itself after the limit.
constexpr std::chrono::seconds kMostTime{40};
/// For the answer of the helper process, once the job has ended.
constexpr std::chrono::milliseconds kTimeToEnd{300};
/// Name of pending work.
constexpr const char* kCommand = "the command of --on-hang";

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
  const auto work = [&inherited = run_.inherited, command = ShellCommand{command, std::move(environment)},
                     end = lifeline->read.get(), agent = ::getpid()] {
    if (::getpid() == agent) {
      return std::string("cannot be started: no process can be made\n");
    }
    const CommandResult result = run_limited(command, inherited, kTimeLimit, end);
    return result.problem + "\n" + result.output;
  };
  task_.start({work, kMostTime, [this](const HelperTask::Answer& answer) { take(answer); }, {lifeline->read.get()}});
}

/// The answer has a line with what went wrong, and the output.
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
