// Fills and starts the command, and tells the leader how it has ended.
#include "agent/preflight_hook.hpp"

#include "base/log.hpp"
#include "base/secrets.hpp"
#include "base/text.hpp"
#include "modes/mode_template.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace muster {
namespace {

/// Time for a command at its limit to end what it has started on devices.
constexpr std::chrono::seconds kGrace{5};

/// Prints the end of the command's output: a job that does not start has no log folder.
void log_last_lines(const std::string& output) {
  constexpr std::size_t kMostShown = 20;
  constexpr std::size_t kMostBytes = 500;  // of a line
  std::vector<std::string> lines = split(trim(output), '\n');
  lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(std::min(lines.size(), kMostShown)));
  for (const std::string& line : lines) {
    log_info("preflight: " + masked_line(line, kMostBytes));
  }
}

}  // namespace

PreflightHook::PreflightHook(ProcessLoop& loop, PendingWork& pending, const RunContext& run, gang::Gang& gang)
    : run_(run),
      gang_(gang),
      file_(loop.queues().logs()),
      runner_(loop, pending, run.inherited, "the preflight command") {}

void PreflightHook::run(const gang::StatusQuery& asked, std::map<std::string, std::string> environment) {
  const auto question = gang::parse_command_question(asked.what);
  is_asked_ = true;
  if (!question || run_.job.gang.config.options.preflight_command.empty()) {
    answer("");
  } else if (runner_.is_idle()) {  // otherwise another leader has asked before, and this one gets the same answer
    output_.clear();
    const auto started = runner_.start(make_command(*question, std::move(environment)),
                                       [this](const CommandEnd& ended) { take(ended); });
    if (!started) {
      answer("the preflight command cannot be started: " + started.error().message);
    }
  }
}

UserCommand PreflightHook::make_command(const gang::CommandQuestion& question,
                                        std::map<std::string, std::string> environment) const {
  const gang::GangConfig& config = run_.job.gang.config;
  if (run_.job.input && run_.job.input->job.devices) {
    const DeviceChoice& chosen = *run_.job.input->job.devices;
    environment[chosen.variable] = chosen.list;
    for (const std::string& name : chosen.unset) {
      environment.erase(name);
    }
  }
  const std::map<std::string, std::string> values{{"attempt", std::to_string(question.attempt)},
                                                  {"devices", join(config.node.devices, ",")},
                                                  {"host_name", run_.options.host_name},
                                                  {"local_world_size", std::to_string(config.node.slots)},
                                                  {"master_address", config.host},
                                                  {"node_rank", std::to_string(question.node)},
                                                  {"nodes", std::to_string(question.nodes)}};
  return {.line = readable(fill_known(config.options.preflight_command, values)),
          .environment = std::move(environment),
          .limit = question.limit,
          .grace = kGrace,
          .ends_with_its_program = true};
}

void PreflightHook::take(const CommandEnd& ended) {
  if (has_ended_) {
    return;
  }
  output_ = ended.output;
  if (ended.problem.empty()) {
    answer(gang::kCommandPassed);
    return;
  }
  log_last_lines(output_);
  answer("the preflight command " + ended.problem + (ended.last_line.empty() ? "" : ": \"" + ended.last_line + "\""));
}

void PreflightHook::begin_attempt(const LaunchPlan& plan) {
  file_.begin(run_.options.needs_files() ? run_.log_folder + plan.preflight_file : "");
  if (!output_.empty()) {
    (void)file_.append(std::exchange(output_, ""));  // without log files, the output of healthy nodes is dropped
  }
  const gang::GangConfig& config = run_.job.gang.config;
  if (!config.options.preflight_command.empty() && !is_asked_ && !config.job.are_tasks) {
    log_warning("the preflight command has not run on this node: the leader did not ask for it");
    is_asked_ = true;
  }
}

void PreflightHook::end() {
  has_ended_ = true;
  runner_.end();
}

}  // namespace muster
