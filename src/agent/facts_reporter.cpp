// Knows what of this node only the agent knows; src/preflight reads the rest.
#include "agent/facts_reporter.hpp"

#include "environment/snapshot.hpp"
#include "process/spawn.hpp"

#include <sys/resource.h>

#include <chrono>
#include <filesystem>

namespace muster {
namespace {

/// Of the files only the folders of the job can be slow: what hangs so long is no fact of a running job.
constexpr std::chrono::seconds kFactsTimeout{5};

/// The limit that workers inherit. This process may have raised its own.
double open_files(const Inherited& inherited) {
  rlimit limit{};
  if (inherited.descriptors) {
    limit = *inherited.descriptors;
  } else if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return preflight::kNoLimit;
  }
  return static_cast<double>(limit.rlim_cur);
}

}  // namespace

preflight::FactSources local_sources(const Inherited& inherited, const std::string& program, const std::string& path) {
  preflight::FactSources sources;
  sources.open_files = open_files(inherited);
  sources.cpus = count_allowed_cores().count;
  const bool is_python = std::filesystem::path(program).filename().string().starts_with("python");
  if (const auto found = find_executable(program, path); is_python && found) {
    sources.interpreter = *found;
  }
  return sources;
}

FactsReporter::FactsReporter(ProcessLoop& loop, const RunContext& run, gang::Gang& gang)
    : run_(run), gang_(gang), helper_(loop.io(), loop.helpers()) {}

void FactsReporter::describe(int number) {
  if (run_.job.gang.config.options.preflight == gang::ComparesNodes::Never) {
    gang_.notify(gang::StatusReport{number, ""});
    return;
  }
  helper_.start({[this] { return read(); }, kFactsTimeout,
                 [this, number](const HelperTask::Answer& answer) {
                   gang_.notify(gang::StatusReport{number, answer.value_or("")});
                 }});
}

std::string FactsReporter::read() const {
  const auto& workers = run_.job.plan.workers;
  const bool has_program = !workers.empty() && !workers.front().argv.empty();
  const auto path = run_.variables.find("PATH");
  preflight::FactSources sources = local_sources(run_.inherited, has_program ? workers.front().argv.front() : "",
                                                 path == run_.variables.end() ? "" : path->second);
  sources.version = run_.job.gang.config.version;
  sources.memory_limit = run_.memory_group.limit;
  if (run_.options.needs_files()) {
    sources.folders["room for logs"] = run_.log_folder.empty() ? run_.options.log_dir : run_.log_folder;
  }
  if (!run_.run_folder.empty()) {
    sources.folders["room for the run"] = run_.run_folder;
  }
  return preflight::to_line(preflight::read_facts(sources));
}

}  // namespace muster
