// Writes the time ledger while the job runs.
#include "agent/job_record.hpp"

#include "base/file_io.hpp"
#include "base/log.hpp"
#include "process/claimed_name.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <set>
#include <system_error>
#include <utility>

namespace muster {
namespace {

/// Seconds after which a job without a record also gets the line about where its time went.
constexpr double kLongJob = 60;
constexpr std::chrono::seconds kBetweenPages{15};
constexpr std::chrono::milliseconds kSoon{200};
constexpr std::chrono::seconds kPageTimeout{2};
/// Name of pending work.
constexpr const char* kMetricsFile = "the file of --metrics";

template <typename Clock>
double now_by() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

/// Finds out why a file cannot be made at this path; empty: it can. The folder is made for files that are written
/// like log files. A device is refused, because an earlier file is renamed or replaced.
std::string find_obstacle(const std::string& path, bool makes_folder) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return "it is there, and is no regular file";
  }
  const auto folder = std::filesystem::absolute(path, error).parent_path();
  if (makes_folder) {
    std::filesystem::create_directories(folder, error);
  }
  if (!error && ::access(folder.c_str(), W_OK | X_OK) != 0) {
    error = {errno, std::generic_category()};
  }
  return error ? error.message() : "";
}

}  // namespace

Result<> check_record(const RunOptions& options) {
  std::set<std::filesystem::path> files;
  for (const auto* const given : {&options.events, &options.trace, &options.metrics}) {
    const bool is_address = *given && given == &options.metrics && TRY(metrics_endpoint(**given));
    if (!*given || is_address) {
      continue;
    }
    std::error_code unresolved;  // a relative path in a folder that is gone: names it twice at worst
    if (!files.insert(std::filesystem::absolute((*given)->value, unresolved).lexically_normal()).second) {
      return wrong_value(**given, "a file that no other of --events, --trace and --metrics has");
    }
    const bool makes_folder = given != &options.metrics;  // the collector reads a folder that exists
    const auto obstacle =
        HelperTask::wait_for({[&] { return find_obstacle((*given)->value, makes_folder); }, kPageTimeout});
    if (!obstacle) {
      log_warning("cannot try whether '" + (*given)->value +
                  "' can be written: its file system does not answer, going on");
    } else if (!obstacle->empty()) {
      return wrong_value(**given, "a file that can be written: " + *obstacle);
    }
  }
  return {};
}

JobRecord::JobRecord(ProcessLoop& loop, PendingWork& pending, const RunContext& run)
    : loop_(loop),
      pending_(pending),
      run_(run),
      server_(loop.io()),
      page_task_(loop.io(), loop.helpers()),
      file_task_(loop.io(), loop.helpers()),
      soon_timer_(loop.io()),
      regular_timer_(loop.io()) {}

Result<> JobRecord::open() {
  const RunOptions& options = run_.options;
  if (options.events) {
    events_ = loop_.queues().logs().open(path_for(options.events->value));
  }
  if (options.trace) {
    trace_ = loop_.queues().logs().open(path_for(options.trace->value));
    loop_.queues().logs().write(*trace_, ledger::kTraceBegin);
  }
  if (!options.metrics) {
    return {};
  }
  const auto endpoint = TRY(metrics_endpoint(*options.metrics));
  if (!endpoint) {
    metrics_file_ = path_for(options.metrics->value);
    return {};
  }
  server_.on_request = std::bind_front(&JobRecord::send_page, this);
  if (const auto started = server_.start(*endpoint); !started) {  // such as another node of the job on this host
    log_warning(started.error().message + "; going on without metrics");
  }
  return {};
}

/// Makes file names differ, because nodes may share a folder: adds this host before the extension, and for further
/// agents of this host -2 and so on.
std::string JobRecord::path_for(const std::string& given) {
  std::error_code ignored;  // the file cannot be opened then
  const std::filesystem::path path = std::filesystem::absolute(given, ignored).lexically_normal();
  if (run_.job.gang.config.job.most_nodes == 1) {
    return path.string();
  }
  constexpr int kMostAgents = 1000;  // somebody may have claimed all names
  const std::string stem = path.stem().string() + "-" + run_.options.host_name;
  UniqueFd& claim = claims_.emplace_back();
  std::filesystem::path own = path;
  for (int agent = 1; agent <= kMostAgents; ++agent) {
    const std::string number = agent == 1 ? "" : "-" + std::to_string(agent);
    own.replace_filename(stem + number + path.extension().string());
    if (claim_name("muster-record-" + std::to_string(std::hash<std::string>()(own.string())), claim)) {
      break;
    }
  }
  return own.string();
}

void JobRecord::add(ledger::Event event) {
  if (ledger_.is_over()) {
    return;
  }
  event.wall = now_by<std::chrono::system_clock>();
  event.monotonic = now_by<std::chrono::steady_clock>();
  const auto ended = ledger_.add(event);
  if (events_) {
    loop_.queues().logs().write(*events_, ledger::to_json_line(event));
  }
  if (trace_) {
    loop_.queues().logs().write(*trace_, ledger::to_trace(event, ended));
  }
  if (metrics_file_.empty()) {
    return;
  }
  if (ledger_.is_over()) {
    pending_.add(kMetricsFile);
    write_page();
  } else if (!soon_timer_.is_pending()) {
    soon_timer_.start(kSoon, [this] { write_page(); });
  }
}

bool JobRecord::is_wanted() const {
  const RunOptions& options = run_.options;
  const bool is_asked = options.events || options.trace || options.metrics;
  const bool is_long = ledger_.total() >= kLongJob && !run_.job.plan.is_transparent;
  return is_asked || is_long;
}

std::string JobRecord::page() const {
  const gang::GangConfig& config = run_.job.gang.config;
  return ledger::to_prometheus(
      ledger_, now_by<std::chrono::steady_clock>(),
      {config.job.job_id == kNoJobId ? "" : config.job.job_id, run_.options.host_name, config.version}, ranks(),
      asked());
}

void JobRecord::send_page(MetricsServer::Send send) {
  waiting_.push_back(std::move(send));
  if (waiting_.size() > 1) {
    return;
  }
  page_task_.start({[this] { return page(); }, kPageTimeout,
                    [this](const HelperTask::Answer& answer) {
                      for (const auto& send_to : std::exchange(waiting_, {})) {
                        send_to(answer.value_or(""));
                      }
                    }});
}

void JobRecord::write_page() {
  soon_timer_.cancel();
  const bool is_last = ledger_.is_over();
  if (!is_last && !file_task_.is_idle()) {  // a helper process that hangs cannot be ended: one at a time
    soon_timer_.start(kSoon, [this] { write_page(); });
    return;
  }
  constexpr mode_t kForAll = 0644;  // its reader is usually another user
  const auto work = [this] {
    const auto written = write_whole_file(metrics_file_, page(), kForAll);
    return written ? std::string() : written.error().message;
  };
  file_task_.start({work, kPageTimeout, [this, is_last](const HelperTask::Answer& problem) {
                      note_written(problem);
                      if (is_last) {
                        pending_.remove(kMetricsFile);
                      }
                    }});
  if (is_last) {
    regular_timer_.cancel();
  } else {
    regular_timer_.start(kBetweenPages, [this] { write_page(); });
  }
}

void JobRecord::note_written(const HelperTask::Answer& problem) {
  if (!problem) {
    metrics_file_.clear();
    regular_timer_.cancel();
    soon_timer_.cancel();
  }
  if ((!problem || !problem->empty()) && !std::exchange(has_warned_, true)) {
    log_warning(problem ? *problem
                        : "cannot write the file of --metrics: its file system does not answer, going on without it");
  }
}

}  // namespace muster
