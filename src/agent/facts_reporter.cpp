// Knows what of this node only the agent knows; src/preflight reads the rest.
#include "agent/facts_reporter.hpp"

#include "compat/known_launchers.hpp"
#include "environment/snapshot.hpp"
#include "process/spawn.hpp"

#include <sys/resource.h>

#include <chrono>
#include <optional>

namespace muster {
namespace {

/// No fact takes so long, not even on a busy node.
constexpr std::chrono::seconds kFactsTimeout{5};
/// For the folders of the job, whose file systems may hang: a leader waits for facts longer than that.
constexpr std::chrono::seconds kFolderTimeout{2};

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
  if (const auto found = find_executable(program, path); is_python(program) && found) {
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
  preflight::Facts facts = preflight::read_facts(sources);
  add_room(facts);
  return preflight::to_line(facts);
}

/// A folder that hangs is a fact as well: it is asked for its room by a process of its own.
void FactsReporter::add_room(preflight::Facts& facts) const {
  std::map<std::string, std::string> folders;
  if (run_.options.needs_files()) {
    folders["room for logs"] = run_.log_folder.empty() ? run_.options.log_dir : run_.log_folder;
  }
  if (!run_.run_folder.empty()) {
    folders["room for the run"] = run_.run_folder;
  }
  auto asked = HelperAnswer::start([&] { return preflight::to_line(preflight::read_room(folders)); });
  if (!asked) {
    return;  // no process can be made here: the folders are no fact
  }
  const auto answer = asked->take(HelperAnswer::Clock::now() + kFolderTimeout, kFolderTimeout);
  facts.texts["folders"] = answer ? "answer" : "do not answer";
  facts.numbers.merge(preflight::parse_facts(answer.value_or("")).numbers);
}

}  // namespace muster
