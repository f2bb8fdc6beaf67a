// Starts the command, and passes on how it has ended.
#include "agent/hang/hang_hook.hpp"

#include "base/log.hpp"
#include "base/text.hpp"

#include <chrono>
#include <utility>

namespace muster {
namespace {

constexpr std::chrono::seconds kTimeLimit{30};
constexpr const char* kCommand = "the command of --on-hang";

}  // namespace

HangHook::HangHook(ProcessLoop& loop, PendingWork& pending, const RunContext& run)
    : run_(run), file_(loop.queues().logs()), runner_(loop, pending, run.inherited, kCommand) {}

void HangHook::run(std::map<std::string, std::string> environment) {
  const std::string& command = run_.options.hangs.command;
  if (command.empty()) {
    return;
  }
  if (!runner_.is_idle()) {
    log_warning(std::string(kCommand) + " still runs: not started for this hang");
    return;
  }
  const auto started = runner_.start({.line = command, .environment = std::move(environment), .limit = kTimeLimit},
                                     [this](const CommandEnd& ended) { take(ended); });
  if (!started) {
    log_warning(std::string("cannot run ") + kCommand + ": " + started.error().message);
  }
}

void HangHook::take(const CommandEnd& ended) {
  if (!ended.output.empty() && !file_.append(ended.output)) {
    const std::string_view lines = ended.output;
    for (const std::string& line : split(lines.substr(0, lines.size() - (lines.ends_with('\n') ? 1 : 0)), '\n')) {
      log_info("on-hang: " + line);
    }
  }
  if (!ended.problem.empty()) {
    constexpr std::size_t kShownBytes = 200;
    log_warning(std::string(kCommand) + " '" + one_line(run_.options.hangs.command, kShownBytes) + "' " +
                ended.problem + (ended.problem.starts_with("ended") ? ", expected exit code 0" : ""));
  }
}

}  // namespace muster
