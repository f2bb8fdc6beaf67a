// What only the system knows is filled into a plan when an attempt starts.
#include "plan/launch_plan.hpp"

namespace muster {
namespace {

/// Calls `visit` with each text that the template wrote into a plan.
template <typename Visit>
void for_each_template_text(LaunchPlan& plan, const Visit& visit) {
  visit(plan.chosen_lines.out);
  visit(plan.chosen_lines.err);
  for (auto& file : plan.files) {
    visit(file.path);
    visit(file.content);
  }
  for (auto& worker : plan.workers) {
    for (auto& [name, value] : worker.environment) {
      visit(value);
    }
    for (auto& argument : worker.argv) {
      visit(argument);
    }
    visit(worker.error_file);
    visit(worker.log.out);
    visit(worker.log.err);
    visit(worker.working_directory);
    visit(worker.label);
  }
}

}  // namespace

void fill_deferred(LaunchPlan& plan, const std::map<std::string, std::string>& values) {
  for_each_template_text(plan, [&](std::string& text) { text = fill_late(text, values); });
  plan.mpi_job = fill_late(plan.mpi_job, values);
}

}  // namespace muster
