// Knows what of this node only the agent knows; src/preflight reads the rest.
#include "agent/facts_reporter.hpp"

#include "base/text.hpp"
#include "compat/known_launchers.hpp"
#include "environment/snapshot.hpp"
#include "preflight/read_names.hpp"
#include "preflight/try_folders.hpp"
#include "process/spawn.hpp"

#include <sys/resource.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace muster {
namespace {

using preflight::Facts;

/// Limit for all facts: none takes so long, even on a busy node.
constexpr std::chrono::seconds kFactsTimeout{5};
/// Limit for facts of the job's folders, whose file systems may hang. The leader waits longer than this.
constexpr std::chrono::seconds kFolderTimeout{2};
/// Limits for asking a name server, and for making a file on a busy file server.
constexpr std::chrono::seconds kNameTimeout{3};
constexpr std::chrono::seconds kWriteTimeout{4};

/// The limit of open files that workers inherit. This process may have raised its own.
double open_files(const Inherited& inherited) {
  rlimit limit{};
  if (inherited.descriptors) {
    limit = *inherited.descriptors;
  } else if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return preflight::kNoLimit;
  }
  return static_cast<double>(limit.rlim_cur);
}

std::string folder_of(const std::string& file) {
  const std::string folder = std::filesystem::path(file).parent_path().string();
  return folder.empty() ? "." : folder;
}

Facts read_room(const std::map<std::string, std::string>& folders) {
  std::map<std::string, std::string> asked;
  for (const auto& [fact, what] :
       {std::pair("room for logs", "log folder"), std::pair("room for the run", "run folder")}) {
    if (const auto found = folders.find(what); found != folders.end()) {
      asked[fact] = found->second;
    }
  }
  Facts facts = preflight::read_room(asked);
  facts.texts["folders"] = "answer";
  return facts;
}

/// Asks a process of its own. Empty: no process can be made, so there is nothing to tell.
std::optional<HelperAnswer> ask(const std::function<Facts()>& read) {
  auto asked = HelperAnswer::start([&] { return preflight::to_line(read()); });
  return asked ? std::optional(std::move(*asked)) : std::nullopt;
}

/// Adds the facts that the process has found. If it hangs, that is a fact, too: the line `late`.
void take(std::optional<HelperAnswer>& asked, HelperAnswer::Clock::time_point end, const char* late, Facts& facts) {
  if (asked) {
    Facts told = preflight::parse_facts(asked->take(end, kFolderTimeout).value_or(late));
    facts.texts.merge(told.texts);
    facts.numbers.merge(told.numbers);
  }
}

/// The job's folders by their purpose. A folder that the job makes later may still be missing.
std::map<std::string, std::string> folders_of(const RunContext& run) {
  std::map<std::string, std::string> folders;
  const auto add = [&](const char* what, const std::string& folder) {
    if (!folder.empty()) {
      folders[what] = folder;
    }
  };
  const std::string& progress = run.job.gang.config.options.restarts.progress_file;
  add("log folder", !run.options.needs_files() ? "" : run.log_folder.empty() ? run.options.log_dir : run.log_folder);
  add("run folder", run.run_folder);
  add("state folder", run.options.state_folder);
  add("compile cache", run.options.caches.store ? run.options.caches.store->value : "");
  add("report folder", run.exit_report.file.empty() ? "" : folder_of(run.exit_report.file));
  add("progress folder", progress.empty() ? "" : folder_of(progress));
  return folders;
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
  if (run_.job.gang.config.options.preflight.compares == gang::ComparesNodes::Never) {
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
  preflight::FactSources sources =
      local_sources(run_.inherited, has_program ? workers.front().argv.front() : "", value_at(run_.variables, "PATH"));
  sources.version = run_.job.gang.config.version;
  sources.memory_limit = run_.memory_group.limit;
  preflight::Facts facts = preflight::read_facts(sources);
  add_answers(facts);
  return preflight::to_line(facts);
}

/// Adds the facts whose reading may hang: each comes from a process of its own, and all of these run at the same time.
void FactsReporter::add_answers(Facts& facts) const {
  const auto folders = folders_of(run_);
  std::optional<HelperAnswer> room = ask([&] { return read_room(folders); });
  std::optional<HelperAnswer> names;
  std::optional<HelperAnswer> writes;
  if (run_.job.gang.config.options.preflight.is_full) {
    names = ask([&] { return preflight::read_names(run_.job.gang.config.host, run_.options.host_name); });
    writes = ask([&] {
      Facts tried;
      tried.texts["folder writes"] = preflight::try_folders(folders);
      return tried;
    });
  }
  const auto now = HelperAnswer::Clock::now();
  take(room, now + kFolderTimeout, R"({"folders":"do not answer"})", facts);
  take(names, now + kNameTimeout, R"({"own name":"no answer"})", facts);
  take(writes, now + kWriteTimeout, R"({"folder writes":"no answer"})", facts);
}

}  // namespace muster
