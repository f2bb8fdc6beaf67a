// muster: from the environment to the report. Each step is a stage with a folder of its name.
#include "explain.hpp"
#include "gang_setup.hpp"
#include "options.hpp"
#include "plan_job.hpp"
#include "requests.hpp"

#include <muster/base/yaml.hpp>
#include <muster/environment/snapshot.hpp>
#include <muster/front_end/front_end.hpp>
#include <muster/logs/messages.hpp>
#include <muster/plan/launch_plan.hpp>
#include <muster/report/report.hpp>
#include <muster/run/run.hpp>

namespace muster {
namespace {

/// The last words of the job: on the console, and in the file that --report names.
void conclude(const Outcome& outcome, const std::optional<Sourced<std::string>>& report) {
  if (report) {
    if (const auto written = write_report(outcome, report->value); !written) {
      say_warning(written.error().message);
    }
  }
  for (const ReportLine& line : describe_outcome(outcome)) {
    say(line.level, line.text);
  }
}

/// How this node's part of the job is started, again and again if need be.
Result<JobPlan> make_job_plan(const Planned& planned,
                              const Options& options,
                              const Snapshot& snapshot) {
  JobPlan result;
  result.plan = planned.plan;
  if (!planned.cluster) {
    result.plan_for = [plan = planned.plan](const Placement& /*placement*/) { return plan; };
    result.gang = make_lone_setup(options.run);
    return result;
  }
  auto setup = make_gang_setup(*planned.cluster, options.gang, options.run);
  if (!setup) {
    return setup.error();
  }
  result.gang = std::move(*setup);
  result.inputs = find_inputs(*planned.mode, *planned.cluster, snapshot);
  result.worker_port = planned.cluster->worker_port;
  result.ports_to_reserve = most_listeners(planned.mode->mode, *planned.cluster);
  result.plan_for = [&planned, &options, &snapshot](const Placement& placement) {
    return make_plan(*planned.cluster, placement, *planned.mode, options.job, snapshot);
  };
  return result;
}

Result<int> run_job(const Planned& planned,
                    const Options& options,
                    const Snapshot& snapshot,
                    const Inherited& inherited) {
  const auto level = options.is_verbose ? Level::Debug : Level::Info;
  set_up_messages(level, may_colour(STDERR_FILENO, options.run.colour, snapshot.variables));
  const auto job_plan = make_job_plan(planned, options, snapshot);
  if (!job_plan) {
    return job_plan.error();
  }
  if (options.report) {
    if (auto prepared = prepare_report(*options.report); !prepared) {
      return prepared.error();
    }
  }
  return run(*job_plan, options.run, inherited, snapshot.variables, [&](const Outcome& outcome) {
    conclude(outcome, options.report);
  });
}

Result<int> launch(std::span<char* const> argv, const Inherited& inherited) {
  const Snapshot snapshot = take_snapshot();
  const auto line = read_command_line(argv, snapshot);
  if (!line) {
    return line.error();
  }
  const auto text = asked_for_text(*line);
  if (text || line->command != Command::Run) {
    release_signals(inherited);  // nothing will be started that would have to be ended in order
  }
  if (text) {
    return print(*text);
  }
  if (line->command != Command::Run) {
    for (const std::string& notice : line->notices) {  // a job says them when it starts
      say_info(notice);
    }
  }
  auto options = read_options(*line, snapshot);
  if (!options) {
    return options.error();
  }
  const auto planned = plan_job(*line, *options, snapshot);
  if (!planned) {
    return planned.error();
  }
  if (line->command == Command::Explain) {
    return explain(planned->plan);
  }
  if (auto checked = check_stdin_rank(*options, planned->plan); !checked) {
    return checked.error();
  }
  if (line->command == Command::Plan) {
    const json::value document = to_document(planned->plan);
    return print(options->is_json ? pretty_json(document) : to_yaml(document));
  }
  return run_job(*planned, *options, snapshot, inherited);
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  const muster::Inherited inherited = muster::take_over_process();
  try {
    const auto exit_code = muster::launch({argv, static_cast<std::size_t>(argc)}, inherited);
    if (exit_code) {
      return *exit_code;
    }
    muster::say_error(exit_code.error().message);
    return exit_code.error().exit_code();
  } catch (const std::exception& error) {  // a bug, or no memory: nothing below catches these
    muster::say_error(std::string("internal error: ") + error.what());
    return 70;
  }
}
